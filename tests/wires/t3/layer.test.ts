/** T3's own shapes, made with the real Effect in both versions that T3 has used: loggers behind a service, a layer that is swapped. */

import { describe, expect, it } from 'vitest'
import { VirtualHost } from '../../../hosts/replay/virtual-host.ts'
import { T3V1 } from '../../../hosts/t3/index.ts'
import { installPackages } from '../../setup/npm-packages.ts'

type Modules = {
  Effect: typeof import('effect/Effect')
  Layer: typeof import('effect/Layer')
  Context: typeof import('effect/Context')
  PubSub: typeof import('effect/PubSub')
}

const available = await installPackages('tests/wires')
const THREADS = 50
const DELTAS = 100_000

async function modules(version: 'effect' | 'effect-beta'): Promise<Modules> {
  const load = (name: string) => import(`${version}/${name}`)
  const [Effect, Layer, Context, PubSub] = await Promise.all(['Effect', 'Layer', 'Context', 'PubSub'].map(load))
  return { Effect, Layer, Context, PubSub }
}

/** A server with T3's services: adapters write native events, ProviderService canonical ones, and then publishes them. */
function server({ Effect, Layer, Context, PubSub }: Modules, isLogging: boolean) {
  type Logger = {
    readonly filePath: string
    write: (event: unknown, threadId: string | null) => import('effect/Effect').Effect<void>
    close: () => import('effect/Effect').Effect<void>
  }
  interface Pair {
    readonly native: Logger | undefined
    readonly canonical: Logger | undefined
  }
  const written: { stream: string; event: unknown }[] = []
  const made: unknown[] = []
  const logger = (stream: string): Logger => ({
    filePath: `/logs/${stream}.log`,
    write: (event) => {
      const effect = Effect.sync(() => {
        written.push({ stream, event })
      })
      made.push(effect)
      return effect
    },
    close: () => Effect.void,
  })
  class ProviderEventLoggers extends Context.Service<ProviderEventLoggers, Pair>()(
    't3/provider/ProviderEventLoggers',
  ) {}
  const original = Layer.succeed(
    ProviderEventLoggers,
    isLogging
      ? { native: logger('native'), canonical: logger('canonical') }
      : { native: undefined, canonical: undefined },
  )
  const virtual = new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
  const t3 = new T3V1({ enabled: true, clock: virtual.clock, timer: false })
  const swapped = Layer.effect(
    ProviderEventLoggers,
    Effect.gen(function* () {
      return ProviderEventLoggers.of(t3.tapLoggers(yield* ProviderEventLoggers, { noop: Effect.void }))
    }),
  ).pipe(Layer.provide(original))

  const stream = (perThread: number) =>
    Effect.gen(function* () {
      const { native, canonical } = yield* ProviderEventLoggers
      const published = yield* PubSub.unbounded<unknown>()
      const subscription = yield* PubSub.subscribe(published)
      const emit = (event: { threadId: string; type: string }) =>
        Effect.gen(function* () {
          yield* canonical?.write(event, event.threadId) ?? Effect.void
          yield* PubSub.publish(published, event)
        })
      const base = { provider: 'codex', createdAt: '2026-01-01T00:00:00.000Z', turnId: 'turn' }
      for (let i = 0; i < THREADS; i++) {
        yield* native?.write({ method: 'turn/started', params: { turn: { id: 'turn' } } }, `t${i}`) ?? Effect.void
        yield* emit({
          ...base,
          type: 'turn.started',
          eventId: `s${i}`,
          threadId: `t${i}`,
          payload: { model: 'm' },
        } as never)
      }
      for (let n = 0; n < perThread; n++) {
        for (let i = 0; i < THREADS; i++) {
          const threadId = `t${i}`
          yield* native?.write(
            { method: 'item/agentMessage/delta', params: { turnId: 'turn', delta: 'a' } },
            threadId,
          ) ?? Effect.void
          yield* emit({
            ...base,
            type: 'content.delta',
            eventId: `d${n}`,
            threadId,
            payload: { streamKind: 'assistant_text', delta: 'a' },
          } as never)
        }
        virtual.run(virtual.now + 20, () => t3.tick())
      }
      return yield* PubSub.takeAll(subscription)
    }).pipe(Effect.scoped, Effect.provide(swapped))
  return { t3, written, made, swapped, stream, ProviderEventLoggers }
}

describe.skipIf(!available).each(['effect', 'effect-beta'] as const)('T3 with %s', (version) => {
  it.each([
    ['on', true],
    ['off', false],
  ])(
    'streams 100,000 deltas over 50 threads with logging %s: each is passed on, published and stamped',
    async (_, isLogging) => {
      const use = await modules(version)
      const { t3, written, stream } = server(use, isLogging)
      const published = await use.Effect.runPromise(stream(DELTAS / THREADS))
      expect(published).toHaveLength(DELTAS + THREADS)
      const expected = isLogging
        ? { native: DELTAS + THREADS, canonical: DELTAS + THREADS }
        : { native: 0, canonical: 0 }
      const count = (name: string) => written.filter((one) => one.stream === name).length
      expect({ native: count('native'), canonical: count('canonical') }).toEqual(expected)
      const threads = t3.watch?.threads() ?? []
      expect(threads).toHaveLength(THREADS)
      for (const { state, phase, turn, stale, progressSilenceMs } of threads) {
        expect({ state, phase, stale, count: turn?.eventCount }).toEqual({
          state: 'running',
          phase: 'mid-stream',
          stale: false,
          count: DELTAS / THREADS,
        })
        expect(progressSilenceMs).toBeLessThanOrEqual(20)
      }
      await t3.stop()
    },
  )

  it('gives the very effect of the logger back: no fibre, no await, no wrapper', async () => {
    const use = await modules(version)
    const { made, swapped, ProviderEventLoggers } = server(use, true)
    const pair = await use.Effect.runPromise(
      use.Effect.gen(function* () {
        return yield* ProviderEventLoggers
      }).pipe(use.Effect.provide(swapped)),
    )
    const given = [
      pair.native?.write({ method: 'turn/started' }, 't'),
      pair.canonical?.write({ type: 'turn.started' }, 't'),
    ]
    expect(given).toEqual(made)
    for (const [i, effect] of given.entries()) expect(effect).toBe(made[i])
  })

  it('loses no event to one that throws from every side', async () => {
    const use = await modules(version)
    const { t3, written, swapped, ProviderEventLoggers } = server(use, true)
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error('get')
        },
        has() {
          throw new Error('has')
        },
        getOwnPropertyDescriptor() {
          throw new Error('own')
        },
      },
    )
    await use.Effect.runPromise(
      use.Effect.gen(function* () {
        const { native, canonical } = yield* ProviderEventLoggers
        yield* native?.write(hostile, 't') ?? use.Effect.void
        yield* canonical?.write(hostile, 't') ?? use.Effect.void
      }).pipe(use.Effect.provide(swapped)),
    )
    expect(written.map(({ stream }) => stream)).toEqual(['native', 'canonical'])
    const faults = t3.watch?.metrics().find(({ name }) => name === 'turnwatch_internal_errors_total')
    expect(faults?.points.find(({ labels }) => labels.where === 'source')).toMatchObject({ value: 2 })
  })
})
