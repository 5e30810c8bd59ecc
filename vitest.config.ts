import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // These have a config of their own, for npm run test:agents.
    exclude: [...configDefaults.exclude, 'tests/agents/live/**'],
    globalSetup: ['tests/setup/debian-packages.ts', 'tests/agents/install.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
