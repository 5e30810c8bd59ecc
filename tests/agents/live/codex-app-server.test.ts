import { describe, expect, inject } from 'vitest'
import { AppServer } from '../agent/app-server.ts'
import { CODEX_MODEL } from '../agent/codex.ts'
import type { Scene } from '../provider/scene.ts'
import { OUTPUT_TOKENS } from '../provider/wire.ts'
import * as scenes from '../scenes.ts'
import { live, type Stage } from '../stage/stage.ts'
import { type EmbeddedWatch, embeddedWatch, type Way } from '../watch/embedded-watch.ts'
import { AGENT_SLACK_MS, expectAbout, expectStaleInTime, SLACK_MS } from '../watch/expectations.ts'

const LIMIT_MS = 6000
const FIRST_TOKEN_MS = 60_000

/** One turn, to its end. */
async function turn(stage: Stage, scene: Scene, { limitMs = LIMIT_MS, way = 'tap' as Way } = {}) {
  const watch = embeddedWatch(limitMs, FIRST_TOKEN_MS)
  const server = await AppServer.start({ stage, scene, watch, way })
  const promptedAt = performance.now()
  await server.prompt()
  const { stats } = await watch.untilEnded()
  return { log: server.log, watch, stats, promptedAt }
}

function expectHealthy({ stale, recovered, ended, unknownTypes, faults }: EmbeddedWatch): void {
  expect({ stale, recovered, unknownTypes, faults }).toEqual({ stale: [], recovered: [], unknownTypes: [], faults: [] })
  expect(ended.map(({ stats }) => [stats.provider, stats.model, stats.state])).toEqual([
    ['codex', CODEX_MODEL, 'completed'],
  ])
}

describe.skipIf(inject('missingAgents').length > 0)('codex app-server', () => {
  live.for<Way>(['tap', 'source'])(
    'an answer is a healthy turn by %s, with the times that the provider made',
    async (way, { stage }) => {
      const { log, watch, stats, promptedAt } = await turn(stage, scenes.answer, { way })
      expectHealthy(watch)
      const first = log.output()[0]?.at ?? 0
      expect(stats.timeToFirstTokenMs).toBeLessThan(first - promptedAt + AGENT_SLACK_MS)
      expectAbout(stats.timeToFirstTokenMs, first - (log.all('asked')[0]?.at ?? 0))
      expect(stats.eventCount).toBeGreaterThanOrEqual(log.output().length)
    },
  )

  live('a tool is no silence, however long it takes', async ({ stage }) => {
    const { log, watch, stats } = await turn(stage, scenes.longTool)
    expectHealthy(watch)
    expect((log.all('asked')[1]?.at ?? 0) - (log.all('end')[0]?.at ?? 0)).toBeGreaterThan(scenes.LONG_MS)
    expect(stats.maxGapMs).toBeLessThan(scenes.LONG_MS)
  })

  live('a pause below the limit is healthy, and measured', async ({ stage }) => {
    const { log, watch, stats } = await turn(stage, scenes.shortPause)
    expectHealthy(watch)
    expectAbout(stats.turnwatch.midStreamMs, log.longestGapMs())
    expectAbout(stats.maxGapMs, log.longestGapMs())
  })

  live('arguments that come slowly are silence, healthy below the limit', async ({ stage }) => {
    const { log, watch, stats } = await turn(stage, scenes.slowArguments, { limitMs: 15_000 })
    expectHealthy(watch)
    const argued = log.all('argue')
    expectAbout(stats.turnwatch.midStreamMs, (argued.at(-1)?.at ?? 0) - (argued[0]?.at ?? 0))
  })

  live('an approval is waited for, longer than the limit', async ({ stage }) => {
    const watch = embeddedWatch(LIMIT_MS, FIRST_TOKEN_MS)
    let asked = 0
    const approve = async () => {
      asked++
      await new Promise((resolve) => setTimeout(resolve, scenes.LONG_MS))
    }
    const server = await AppServer.start({ stage, scene: scenes.harmful, watch, approve })
    await server.prompt()
    await watch.untilEnded()
    expectHealthy(watch)
    expect(asked).toBe(1)
  })

  live('an overloaded provider is asked again', async ({ stage }) => {
    const { log, watch } = await turn(stage, scenes.overloadedTwice)
    expectHealthy(watch)
    expect(log.all('refuse')).toHaveLength(2)
  })

  live('a connection that is cut is made again', async ({ stage }) => {
    const { log, watch, stats } = await turn(stage, scenes.cutOnce)
    expectHealthy(watch)
    expect(log.all('cut')).toHaveLength(1)
    expect(stats.usage?.outputTokens).toBe(log.all('end').length * OUTPUT_TOKENS)
  })

  live.for([
    ['a refused request', scenes.badRequest],
    ['a connection that is always cut', scenes.cutAlways],
  ] as const)('%s is a failure of the provider', async ([, scene], { stage }) => {
    const { log, watch, stats } = await turn(stage, scene)
    expect(watch.stale).toMatchObject([{ reason: 'provider-error' }])
    expect((watch.stale[0]?.at ?? 0) - (log.all('refuse', 'cut').at(-1)?.at ?? 0)).toBeLessThan(AGENT_SLACK_MS)
    expect([stats.state, watch.ended.length, watch.unknownTypes]).toEqual(['error', 1, []])
  })

  live.for([
    ['a stream that is dead', scenes.dead],
    ['a stream of keep-alives', scenes.onlyKeepAlives],
  ] as const)('%s is stale in its limit; its interruption is an end', async ([, scene], { stage }) => {
    const watch = embeddedWatch(LIMIT_MS, FIRST_TOKEN_MS)
    const server = await AppServer.start({ stage, scene, watch })
    const turnId = await server.prompt()
    expectStaleInTime(await watch.untilStale(), 'mid-stream', LIMIT_MS, server.log.output().at(-1)?.at ?? 0)
    await server.interrupt(turnId)
    const { outcome } = await watch.untilEnded()
    expect([outcome, watch.stale.length, watch.recovered, watch.unknownTypes]).toEqual(['aborted', 1, [], []])
  })

  live('an answer that never begins is stale before its first token', async ({ stage }) => {
    const watch = embeddedWatch(LIMIT_MS)
    const server = await AppServer.start({ stage, scene: scenes.neverBegins, watch })
    const promptedAt = performance.now()
    await server.prompt()
    const asked = await server.log.until('asked')
    expectStaleInTime(await watch.untilStale(), 'first-token', LIMIT_MS, promptedAt, asked.at)
  })

  live.for<Way>(['tap', 'source'])('a server that is killed is dead at once, by %s', async (way, { stage }) => {
    const watch = embeddedWatch(60_000)
    const server = await AppServer.start({ stage, scene: scenes.dead, watch, way })
    await server.prompt()
    await server.log.until('pause')
    const killedAt = server.kill()
    const { reason, at } = await watch.untilStale()
    expect(reason).toBe('provider-dead')
    expect(at - killedAt).toBeLessThan(SLACK_MS)
  })
})
