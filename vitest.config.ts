import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // These have a config of their own, for npm run test:agents.
    exclude: [...configDefaults.exclude, 'tests/agents/live/**'],
    globalSetup: ['tests/setup/debian-packages.ts', 'tests/agents/install.ts'],
    // On two cores vitest would take one, and many suites only wait for a program.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
