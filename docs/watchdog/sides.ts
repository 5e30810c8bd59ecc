/** The two sides of a case: a stream under our deadlines, and a call of the AI SDK under its own timeouts. */

import { type Attempt, type StreamDeadlines, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { type AiCall, type AiSdk, type Model, type Part, type PartLine, scriptedModel, wireModel } from './ai-sdk.ts'
import { type Outcome, outcomeOf, type Reading, type Said, undisturbed } from './outcome.ts'
import type { Wire, WireLine } from './wire.ts'

/** What one side does, and what that is said of; without a run there is only the word for it. */
export type Cell = { readonly says: string } & Partial<Outcome>

export interface Case {
  readonly what: string
  /** Whether it would disturb others that run at the same time. */
  readonly runsAlone?: boolean
  readonly turnwatch: () => Promise<Cell>
  readonly ai: () => Promise<Cell>
}

/** What a case has of its own; the same for both sides, unless it is said otherwise. */
export interface Own {
  /** @default the first content, the next and the close within the deadline */
  readonly deadlines?: StreamDeadlines
  /** Of `watchStream`. */
  readonly options?: () => Pick<WatchOptions, 'source' | 'unknown' | 'control' | 'onStall' | 'clock'>
  /** Of `streamText`. */
  readonly call?: Omit<AiCall, 'model'>
  /** Pieces of a whole answer. @default 2 */
  readonly pieces?: number
  readonly holdMs?: Reading['holdMs']
  readonly since?: Reading['since']
  /** What the caller does with its own abort signal. */
  readonly caller?: (abort: AbortController) => void
  /** Whether it holds the event loop up itself. */
  readonly isDisturbed?: boolean
  /** The cell, where it is not the outcome as it is. */
  readonly says?: (outcome: Outcome) => string
}

export class Sides {
  /** The deadline by which all is measured, in ms. */
  readonly deadlineMs: number
  readonly ai: AiSdk
  readonly wire: Wire

  constructor(deadlineMs: number, ai: AiSdk, wire: Wire) {
    this.deadlineMs = deadlineMs
    this.ai = ai
    this.wire = wire
  }

  /** The same call of the SDK: its `fullStream` under our deadlines, or with its own timeouts. */
  parts(what: string, script: readonly PartLine[], own: Own = {}, ...nextScripts: (readonly PartLine[])[]): Case {
    const model = () => scriptedModel(script, ...nextScripts)
    return {
      what,
      turnwatch: () => this.run(own, ({ signal }) => saidByParts(this.watched(model(), own, { signal }))),
      ai: this.alone(model, own),
    }
  }

  /** The same answer of a server: its response under our deadlines, or read by a model of the SDK with its own timeouts. */
  response(what: string, script: readonly WireLine[], own: Own = {}): Case {
    const url = this.wire.url(script)
    return {
      what,
      turnwatch: () =>
        this.run(own, async (abort) => {
          const options = { source: 'openai-chat-chunk', ...this.#deadlines(own), ...own.options?.(), abort } as const
          const { body } = await watchStream(fetch(url, { signal: abort.signal }), options)
          return saidByEvents(body as ReadableStream<Uint8Array<ArrayBuffer>>)
        }),
      ai: this.alone(() => wireModel(url), own),
    }
  }

  /** A call of the SDK under our deadlines, one try of it. */
  watched(model: Model, own: Own, { signal }: Pick<Attempt, 'signal'>): ReadableStream<Part> {
    const abort = new AbortController()
    const abortSignal = AbortSignal.any([signal, abort.signal])
    return watchStream(this.ai.stream({ model, ...own.call, abortSignal }).fullStream, {
      source: 'ai-sdk-fullstream',
      ...this.#deadlines(own),
      ...own.options?.(),
      signal,
      abort,
    })
  }

  /** A call of the SDK with its own timeouts. */
  alone(model: () => Model, own: Own): () => Promise<Cell> {
    const { firstContentMs, contentIntervalMs, totalMs } = this.#deadlines(own)
    const timeouts = Object.entries({ firstChunkMs: firstContentMs, chunkMs: contentIntervalMs, totalMs })
    const timeout = Object.fromEntries(timeouts.filter(([, ms]) => ms !== undefined))
    return () =>
      this.run(own, ({ signal }) => {
        const result = this.ai.stream({ model: model(), ...own.call, abortSignal: signal, timeout })
        return saidByParts(result.fullStream, () => result.text)
      })
  }

  /** Reads what is opened, again where the run was disturbed. */
  run(own: Own, open: (abort: AbortController) => ReturnType<Reading['open']>): Promise<Cell> {
    const run = async () => {
      const abort = new AbortController()
      own.caller?.(abort)
      const outcome = await outcomeOf({
        deadlineMs: this.deadlineMs,
        pieces: own.pieces ?? 2,
        holdMs: own.holdMs,
        since: own.since,
        open: () => open(abort),
      })
      abort.abort()
      return { ...outcome, says: own.says?.(outcome) ?? outcome.says }
    }
    return own.isDisturbed ? run() : undisturbed(this.deadlineMs, run)
  }

  #deadlines({ deadlines }: Own): StreamDeadlines {
    const ms = this.deadlineMs
    return deadlines ?? { firstContentMs: ms, contentIntervalMs: ms, drainMs: ms }
  }
}

/** `whole`: what rejects with the error of an abort, of which its part has only the text. */
export async function* saidByParts(
  stream: AsyncIterable<Part>,
  whole?: () => PromiseLike<string>,
): AsyncGenerator<Said> {
  const errorOf = async (reason: unknown) => {
    try {
      await whole?.()
    } catch (error) {
      return error
    }
    return reason
  }
  for await (const { type, text, reason, error } of stream) {
    if (type === 'text-delta' && text) yield { pieces: 1 }
    else if (type === 'finish') yield { isEnd: true }
    else if (type === 'abort') yield { error: await errorOf(reason) }
    else if (type === 'error') yield { error }
  }
}

/** Of server-sent events, whose chunks on this machine are whole. */
async function* saidByEvents(bytes: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Said> {
  for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
    const pieces = text.split('"content":"a"').length + text.split('"delta":"a"').length - 2
    const isEnd = text.includes('"finish_reason":"stop"') || text.includes('"response.completed"')
    yield { pieces, isEnd }
  }
}
