import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['live/*.test.ts'],
    globalSetup: ['install.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // An agent each, and they are heavy to start.
    maxWorkers: 2,
  },
})
