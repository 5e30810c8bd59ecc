/** Feeds raw events to a source and lists what it says, a line each. */

import { readFileSync } from 'node:fs'
import type { TurnEvent } from '../../instrumentation/events.ts'
import {
  createSource,
  type Direction,
  type SourceName,
  type SourceOptions,
} from '../../instrumentation/sources/index.ts'

export interface Said {
  readonly thread: string
  readonly event: TurnEvent
}

export function read(name: SourceName, raws: readonly unknown[], options: SourceOptions = {}): Said[] {
  const source = createSource(name, { wallMs: () => 1_000_000, ...options })
  const said: Said[] = []
  for (const raw of raws) {
    const [event, direction] = Array.isArray(raw) ? (raw as [unknown, Direction]) : [raw, 'in' as const]
    source.read(event, (thread, turnEvent) => said.push({ thread, event: turnEvent }), direction)
  }
  return said
}

/** What makes the thread unique that a source makes up. */
const MADE_UP = /-lfls-\d+$/

/** The same without side events, as text: thread, kind and what matters of it. */
export function lines(said: readonly Said[]): string[] {
  return said
    .filter(({ event }) => event.kind !== 'side')
    .map(({ thread, event }) => {
      const { kind, usage: _, ...rest } = event as TurnEvent & { usage?: unknown }
      return [
        thread.replace(MADE_UP, ''),
        kind,
        ...Object.entries(rest).map(([name, value]) => `${name}=${value}`),
      ].join(' ')
    })
}

/** The raw events of a recorded run. */
export function trace(file: string): unknown[] {
  const text = readFileSync(new URL(`../../examples/traces/${file}`, import.meta.url), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: unknown; dir?: Direction })
    .map(({ event, dir }) => (dir === undefined ? event : [event, dir]))
}

/** Runs of equal lines folded into one with a count. */
export function folded(all: readonly string[]): string[] {
  const out: { line: string; count: number }[] = []
  for (const line of all) {
    const last = out.at(-1)
    if (last?.line === line) last.count++
    else out.push({ line, count: 1 })
  }
  return out.map(({ line, count }) => (count === 1 ? line : `${line} x${count}`))
}
