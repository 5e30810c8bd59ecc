import { describe, expect, inject } from 'vitest'
import { opencodeRun } from '../agent/opencode.ts'
import type { Scene } from '../provider/scene.ts'
import * as scenes from '../scenes.ts'
import { live, type Stage } from '../stage/stage.ts'
import { AGENT_SLACK_MS, expectAbout, expectHealthy, expectStaleInTime, SLACK_MS } from '../watch/expectations.ts'
import { watchedRun } from '../watch/watched-run.ts'

/** A tool is silence on this wire, and any takes its time when the machine is busy. */
const LIMIT_MS = 12_000
const LIMITS = ['--first-token', '60s', '--mid-stream', '12s']
const run = (stage: Stage, scene: Scene, limits = LIMITS) => watchedRun(stage, opencodeRun, scene, limits)

describe.skipIf(inject('missingAgents').length > 0)('opencode run', () => {
  live('an answer is a healthy turn, with the times that the provider made', async ({ stage }) => {
    const { ended, log, startedAt } = await run(stage, scenes.answer)
    const end = await ended
    expectHealthy(end)
    // The text comes as a whole.
    const [asked, finished] = [log.all('asked')[0]?.at ?? 0, log.all('end')[0]?.at ?? 0]
    expect(end.statistics.firstTokenMs).toBeGreaterThan(finished - asked)
    expect(end.statistics.firstTokenMs).toBeLessThan(finished - startedAt + AGENT_SLACK_MS)
    expect(end.statistics.tokens).toBe(1)
  })

  live('a pause below the limit is healthy, and measured', async ({ stage }) => {
    const { ended, log } = await run(stage, scenes.shortPause)
    const end = await ended
    expectHealthy(end)
    expectAbout(end.statistics.longestMs['mid-stream'], log.longestGapMs())
  })

  live('a long tool, which this wire does not show, is healthy under the default limits', async ({ stage }) => {
    const { ended, log } = await run(stage, scenes.longTool, [])
    const end = await ended
    expectHealthy(end)
    const [called, went] = [log.all('end')[0]?.at ?? 0, log.all('asked')[1]?.at ?? 0]
    expect(went - called).toBeGreaterThan(scenes.LONG_MS)
    // The text of the first call, the tool, the text of the second.
    expect(end.statistics.tokens).toBe(3)
    expectAbout(Math.max(...Object.values(end.statistics.longestMs)), went - called)
  })

  live('arguments that come slowly are silence, healthy below the limit', async ({ stage }) => {
    const { ended } = await run(stage, scenes.slowArguments)
    expectHealthy(await ended)
  })

  live('an overloaded provider is asked again, which this wire does not show', async ({ stage }) => {
    const { ended, log } = await run(stage, scenes.overloadedTwice)
    expectHealthy(await ended)
    expect(log.all('refuse')).toHaveLength(2)
  })

  live('a connection that is cut is made again', async ({ stage }) => {
    const { ended, log } = await run(stage, scenes.cutOnce)
    expectHealthy(await ended)
    expect(log.all('cut')).toHaveLength(1)
  })

  live('a refused request is told at once', async ({ stage }) => {
    const { ended, log } = await run(stage, scenes.badRequest)
    const { code, told, statistics } = await ended
    expect(code).toBe(1)
    expect(told).toMatchObject([{ reason: 'provider-error', provider: 'opencode' }])
    expect((told[0]?.at ?? 0) - (log.all('refuse').at(-1)?.at ?? 0)).toBeLessThan(AGENT_SLACK_MS)
    expect(statistics).toMatchObject({ started: 1, outcomes: { error: 1 }, unknownTypes: [] })
  })

  live.for([
    ['a stream that is dead', scenes.dead],
    ['a stream of keep-alives', scenes.onlyKeepAlives],
  ] as const)('%s is stale in its limit', async ([, scene], { stage }) => {
    const { tells, interrupt, ended, until } = await run(stage, scene)
    // The wire ends with the tool's call and result, somewhere between these two.
    const [called, asked] = [await until('end'), await until('asked', 2)]
    expectStaleInTime(await tells(), 'mid-stream', LIMIT_MS, called.at, asked.at)
    interrupt()
    const { notes, told, statistics } = await ended
    expect([notes.length, told.length]).toEqual([1, 1])
    expect(statistics).toMatchObject({ started: 1, outcomes: { aborted: 1 }, unknownTypes: [] })
  })

  live('an agent that is killed is dead at once', async ({ stage }) => {
    const { tells, killAgent, ended, until } = await run(stage, scenes.dead, ['--mid-stream', '60s'])
    await until('pause')
    const killedAt = killAgent()
    const { reason, at } = await tells()
    expect(reason).toBe('provider-dead')
    expect(at - killedAt).toBeLessThan(SLACK_MS)
    expect(await ended).toMatchObject({ code: 137, statistics: { outcomes: { lost: 1 } } })
  })
})
