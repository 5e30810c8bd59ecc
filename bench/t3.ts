/**
 * What the tap costs a T3 server per token, beside the logger that it taps: a native write and its canonical event, with
 * logging on and off, on the Effect that T3 runs on. With logging off an adapter would not even build what it logs.
 */

import { randomUUID } from 'node:crypto'
import { T3V1 } from '../hosts/t3/index.ts'
import { installPackages } from '../tests/setup/npm-packages.ts'
import { nsPerCall } from './measure.ts'
import { type Figure, heading, printFigures, times } from './report.ts'

const THREADS = 50

interface Effects {
  readonly void: unknown
  sync(work: () => void): unknown
  runSync(effect: unknown): unknown
  flatMap(effect: unknown, next: () => unknown): unknown
}

export async function benchT3(): Promise<Figure[]> {
  heading('T3: a token through the tapped loggers')
  if (!(await installPackages('tests/wires'))) return []
  const module = new URL('../tests/wires/node_modules/effect/dist/Effect.js', import.meta.url)
  const figures = await measured((await import(module.href)) as Effects)
  printFigures(figures)
  return figures
}

async function measured(effect: Effects): Promise<Figure[]> {
  let bytes = 0
  // T3's logger encodes the event and hands the line to a batch.
  const logger = () => ({
    filePath: '/logs/x.log',
    write: (event: unknown, _threadId: string | null): unknown =>
      effect.sync(() => {
        bytes += JSON.stringify(event).length
      }),
    close: () => effect.void,
  })
  const t3 = new T3V1({ enabled: true, timer: false })
  const logging = { native: logger(), canonical: logger() }
  const tapped = t3.tapLoggers(logging, { noop: effect.void })
  const silent = t3.tapLoggers<typeof logging.native>(
    { native: undefined, canonical: undefined },
    { noop: effect.void },
  )
  for (let i = 0; i < THREADS; i++) t3.canonical(canonicalEvent(i, 'turn.started', { model: 'm' }))

  /** A token as an adapter handles it: it builds what it logs, writes it, and gives the canonical event. */
  const token = (pair: Partial<typeof logging>, isBuilt: boolean) => {
    let i = 0
    return () => {
      i = i + 1 === THREADS ? 0 : i + 1
      const threadId = `t${i}`
      const native = isBuilt ? nativeEvent() : null
      const canonical = canonicalEvent(i, 'content.delta', { streamKind: 'assistant_text', delta: 'a' })
      const first = pair.native?.write(native, threadId) ?? effect.void
      effect.runSync(effect.flatMap(first, () => pair.canonical?.write(canonical, threadId) ?? effect.void))
    }
  }
  const stamp = () => {
    let i = 0
    const native = nativeEvent()
    const canonical = Array.from({ length: THREADS }, (_, at) =>
      canonicalEvent(at, 'content.delta', { streamKind: 'assistant_text', delta: 'a' }),
    )
    return () => {
      i = i + 1 === THREADS ? 0 : i + 1
      t3.native(native, `t${i}`)
      t3.canonical(canonical[i])
    }
  }
  const bare = await nsPerCall(token(logging, true))
  const withTap = await nsPerCall(token(tapped as typeof logging, true))
  const off = await nsPerCall(token({}, false))
  const offWithTap = await nsPerCall(token(silent as typeof logging, true))
  const alone = await nsPerCall(stamp())
  await t3.stop()
  if (bytes === 0) throw new Error('nothing was logged')
  const ns = (value: number) => `${Math.round(value)} ns`
  return [
    { what: 'both taps alone, a token', measured: ns(alone), ok: null },
    {
      what: 'a token, logging on',
      measured: ns(withTap),
      peer: `${times(withTap, bare)} the bare loggers (${ns(bare)})`,
      ok: null,
    },
    {
      what: 'a token, logging off',
      measured: ns(offWithTap),
      peer: `${times(offWithTap, off)} no logger (${ns(off)}): the adapter builds a UUID and a date`,
      ok: null,
    },
  ]
}

/** What an adapter builds only where it logs. */
function nativeEvent() {
  return {
    observedAt: new Date().toISOString(),
    event: {
      id: randomUUID(),
      kind: 'notification',
      provider: 'codex',
      method: 'item/agentMessage/delta',
      params: { turnId: 'turn', itemId: 'item', delta: 'a' },
    },
  }
}

function canonicalEvent(i: number, type: string, payload: object) {
  return {
    type,
    eventId: 'e',
    provider: 'codex',
    createdAt: '2026-01-01T00:00:00.000Z',
    threadId: `t${i}`,
    turnId: 'turn',
    payload,
  }
}
