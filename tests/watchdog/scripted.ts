/** Streams that follow a script in virtual time, and readers that note what they got and when. */

import type { VirtualClock } from './virtual-clock.ts'

/** Ms after the line before, and an event; `end` closes the stream, `hang` never comes, an Error fails it. */
export type Line = readonly [afterMs: number, what: unknown]

export interface Scripted {
  readonly stream: ReadableStream<unknown>
  /** What the source was cancelled with. */
  readonly cancelled: unknown[]
  /** Events that were asked for. */
  readonly pulls: () => number
}

/** A stream that pushes as a server does, whether it is read or not. */
export function pushed(clock: VirtualClock, script: readonly Line[], type?: 'bytes'): Scripted {
  const cancelled: unknown[] = []
  let pulls = 0
  let over = false
  const source = {
    start(controller: ReadableStreamDefaultController<unknown>) {
      void play(clock, script, (what) => {
        if (over) return
        if (what === 'end' || what instanceof Error) over = true
        if (what === 'end') controller.close()
        else if (what instanceof Error) controller.error(what)
        else controller.enqueue(what)
      })
    },
    pull() {
      pulls++
    },
    cancel(reason: unknown) {
      over = true
      cancelled.push(reason)
    },
  }
  const stream: ReadableStream<unknown> =
    type === undefined ? new ReadableStream(source) : new ReadableStream({ ...source, type } as never)
  return { stream, cancelled, pulls: () => pulls }
}

/** The same as an async generator; `returned` tells whether it was left. */
export async function* generated(
  clock: VirtualClock,
  script: readonly Line[],
  onEnd = () => {},
): AsyncGenerator<unknown> {
  try {
    for (const [afterMs, what] of script) {
      if (afterMs > 0) await clock.wait(afterMs)
      if (what === 'end') return
      if (what === 'hang') await new Promise(() => {})
      if (what instanceof Error) throw what
      yield what
    }
    await new Promise(() => {})
  } finally {
    onEnd()
  }
}

async function play(clock: VirtualClock, script: readonly Line[], emit: (what: unknown) => void): Promise<void> {
  for (const [afterMs, what] of script) {
    if (afterMs > 0) await clock.wait(afterMs)
    if (what === 'hang') return
    emit(what)
  }
}

export interface Reading {
  readonly events: unknown[]
  /** Virtual ms at which each came. */
  readonly at: number[]
  /** `done`, or the error, once it is over. */
  outcome: unknown
  endedAt: number
}

/** Reads a stream to its end, `holdMs` after each event. */
export function reading(clock: VirtualClock, stream: AsyncIterable<unknown>, holdMs = 0): Reading {
  const start = clock.monoMs()
  const result: Reading = { events: [], at: [], outcome: undefined, endedAt: Number.NaN }
  const read = async () => {
    try {
      for await (const event of stream) {
        result.events.push(event)
        result.at.push(clock.monoMs() - start)
        if (holdMs > 0) await clock.wait(holdMs)
      }
      result.outcome = 'done'
    } catch (error) {
      result.outcome = error
    }
    result.endedAt = clock.monoMs() - start
  }
  void read()
  return result
}
