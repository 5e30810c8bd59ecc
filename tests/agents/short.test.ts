import { describe, expect, inject } from 'vitest'
import { claudeCode } from './agent/claude-code.ts'
import { codexExec } from './agent/codex.ts'
import { opencodeRun } from './agent/opencode.ts'
import * as scenes from './scenes.ts'
import { live } from './stage/stage.ts'
import { expectHealthy, SLACK_MS } from './watch/expectations.ts'
import { watchedRun } from './watch/watched-run.ts'

const AGENTS = [claudeCode, codexExec, opencodeRun]
const LIMIT_MS = 12_000
const LIMITS = ['--first-token', '90s', '--mid-stream', '12s']

describe.skipIf(inject('missingAgents').length > 0)('the real command line', { timeout: 120_000 }, () => {
  describe('in a healthy turn', () => {
    live.concurrent.for(AGENTS)('of $provider is not flagged', async (agent, { stage }) => {
      // Other suites keep the machine busy, so the limits of every day have to do.
      const run = await watchedRun(stage, agent, scenes.tool, ['--first-token', '90s'])
      expectHealthy(await run.ended)
    })
  })

  describe('whose stream is dead', () => {
    live.concurrent.for(AGENTS)('of $provider is stale, told once', async (agent, { stage }) => {
      const run = await watchedRun(stage, agent, scenes.dead, LIMITS)
      const { reason, provider, thresholdMs, at } = await run.tells()
      expect({ reason, provider, thresholdMs }).toEqual({
        reason: 'silence',
        provider: agent.provider,
        thresholdMs: LIMIT_MS,
      })
      expect(at - (run.log.all('end')[0]?.at ?? 0)).toBeGreaterThan(LIMIT_MS * 1.25)
      run.interrupt()
      expect((await run.ended).told).toHaveLength(1)
    })
  })

  describe('that is killed', () => {
    live.concurrent.for(AGENTS)('of $provider is dead at once', async (agent, { stage }) => {
      const run = await watchedRun(stage, agent, scenes.dead, ['--first-token', '90s', '--mid-stream', '60s'])
      await run.until('pause')
      const killedAt = run.killAgent()
      const { reason, at } = await run.tells()
      expect(reason).toBe('provider-dead')
      expect(at - killedAt).toBeLessThan(SLACK_MS)
      expect((await run.ended).code).toBe(137)
    })
  })
})
