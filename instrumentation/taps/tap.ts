/**
 * One watched stream: what passes goes through its source to the watch, and its end closes the turns that it leaves
 * open. Nothing here throws, whatever passes and whatever the watch does.
 */

import type { Outcome, TurnEvent } from '../events.ts'
import { shown } from '../shown.ts'
import { isRaw, text } from '../sources/classifier.ts'
import type { Direction, Emit, Source, SourceName, SourceOptions, Watcher } from '../sources/source.ts'
import { createSource, isSentinel, wireOf } from '../sources/wires.ts'
import { ConsumerHold } from './consumer-hold.ts'
import { isText, JsonEvents, type TextFormat } from './json-events.ts'
import { type Later, later } from './later.ts'
import { OpenTurns } from './open-turns.ts'
import { isOwnEnd, isOwnFailure, type StopSignals } from './own-stop.ts'
import { leaveThread, takeThread } from './thread-streams.ts'

export interface TapOptions extends Omit<SourceOptions, 'onUnclassified' | 'onUnreadable'> {
  /** The wire format of what passes. */
  readonly source: SourceName
  /**
   * The thread's id, instead of the session id on the wire. A thread has one turn at a time: a bare API's stream that
   * begins in it ends the turn of an older one `aborted`, which is not watched any more. Streams that run side by side
   * need threads of their own.
   */
  readonly thread?: string | undefined
  /** The signal by which the consumer stops the stream: once it is aborted, no end and no failure is the provider's. */
  readonly signal?: AbortSignal | undefined
  /** Runs work after some ms. @default a timer that does not keep the process alive */
  readonly later?: Later | undefined
}

/** What the kind of stream adds to the options. */
export interface TapKind {
  /** Of text and bytes; without it, the first character tells. */
  readonly format?: TextFormat | null
  readonly signals?: () => StopSignals
  /** Not the first reading of what it was made for: it may only fail because there can be no other. */
  readonly isAgain?: boolean
}

const HELD: TurnEvent = Object.freeze({ kind: 'wait.started', id: 'consumer', reason: 'queue' })
const RESUMED: TurnEvent = Object.freeze({ kind: 'wait.ended', id: 'consumer' })
const INTERRUPTED: TurnEvent = Object.freeze({ kind: 'interrupt.requested' })

/** What Claude Code is sent to interrupt it. */
const CLAUDE_INTERRUPT = { type: 'control_request', request: { subtype: 'interrupt' } }

export class Tap {
  readonly #watch: Watcher
  readonly #options: TapOptions
  readonly #kind: TapKind
  readonly #source: Source
  readonly #open = new OpenTurns()
  readonly #hold: ConsumerHold
  readonly #texts: Partial<Record<Direction, JsonEvents>> = {}
  #requested = false
  #over = false
  /** Whether an event came that is no text, and whether one told the source anything. */
  #sawEvent = false
  #understood = false

  /** Throws TypeError for a source that is none, and for a watch that is none. */
  constructor(watch: Watcher, options: TapOptions, kind: TapKind = {}) {
    if (typeof watch?.observe !== 'function') {
      throw new TypeError(`watch: ${shown(watch)} is no Turnwatch, and has no observe(threadId, event)`)
    }
    this.#watch = watch
    this.#options = options
    this.#kind = kind
    this.#source = createSource(options?.source, {
      ...options,
      onUnclassified: (source, type) => this.#safely(() => watch.unclassified(source, type)),
      onUnreadable: (_source, error) => this.#fault(error),
    })
    this.#hold = new ConsumerHold(options.later ?? later, (isHeld) => this.#toOpen(isHeld ? HELD : RESUMED))
  }

  /** Whether a turn was seen. */
  get sawTurn(): boolean {
    return this.#open.any
  }

  /** Whether the stream has ended, in whatever way. */
  get over(): boolean {
    return this.#over
  }

  /** The stream is asked for. The silence of a bare API counts from here, not from its first event. */
  requested(): void {
    if (this.#requested) return
    this.#requested = true
    if (this.#isApi) this.#start()
  }

  /** The consumer asks for the next. */
  asks(): void {
    if (this.#over) return
    this.requested()
    this.#hold.asks()
  }

  /** The consumer has all that it asked for; until it asks again the silence is its own. */
  holds(): void {
    if (!this.#over) this.#hold.holds()
  }

  /** Takes a raw event, or text or bytes of some. */
  took(chunk: unknown, direction: Direction = 'in'): void {
    if (this.#over) return
    try {
      if (isText(chunk)) this.#text(direction).push(chunk)
      else {
        this.#sawEvent = true
        this.#source.read(chunk, this.#read, direction)
      }
    } catch (error) {
      this.#fault(error)
    }
  }

  /** Takes what a step of an iterator gave; `byConsumer` when an end of it is the consumer's. */
  stepped(step: unknown, byConsumer: boolean): void {
    if (this.#over) return
    this.#safely(() => {
      const { done, value } = step as IteratorResult<unknown>
      if (!done) this.took(value)
      else if (byConsumer) this.cancelled()
      else this.ended()
    })
  }

  /**
   * The stream is at its end; `exit` where it is that of a process. A turn that it left open has lost its provider, unless
   * the wire may end so, or the stream told nothing at all: then it is not known to be of this wire.
   */
  ended(exit?: TurnEvent & { kind: 'exit' }): void {
    if (this.#over) return
    if (isOwnEnd(this.#signals())) return this.cancelled()
    let isWhole = this.#sawEvent
    this.#safely(() => {
      if (this.#texts.in !== undefined) isWhole = this.#texts.in.end()
    })
    const isClean =
      !this.#understood || (this.#texts.in === undefined && wireOf(this.#source.name).endsCleanly === true)
    this.#close()
    if (exit === undefined && isWhole && isClean) this.#end('completed')
    else this.#toOpen(exit ?? { kind: 'exit' })
  }

  /** The stream failed. A model's that did before its first event was a turn all the same. */
  failed(error: unknown): void {
    if (this.#over) return
    let isOwn = false
    let message = 'the stream failed'
    this.#safely(() => {
      isOwn = isOwnFailure(error, this.#signals())
      message = messageOf(error) ?? message
    })
    if (isOwn) return this.cancelled()
    if (!this.#open.any) this.#start()
    this.#close()
    this.#toOpen({ kind: 'error', message })
    this.#end('error')
  }

  /** The consumer wants no more of it. */
  cancelled(): void {
    if (this.#over) return
    this.#close()
    this.#end('aborted')
  }

  /** The consumer asks the turn to stop, and goes on reading. */
  interrupted(): void {
    if (this.#over) return
    // The source has to know it too: the agent's own end looks like a failure.
    if (this.#source.name === 'claude-code-stream-json') this.#source.read(CLAUDE_INTERRUPT, () => {}, 'out')
    this.#toOpen(INTERRUPTED)
  }

  readonly #emit: Emit = (thread, event) => {
    this.#open.note(thread, event)
    try {
      this.#watch.observe(thread, event)
    } catch (error) {
      this.#fault(error)
    }
  }

  /** Of what the source makes of an event. */
  readonly #read: Emit = (thread, event) => {
    this.#understood = true
    this.#emit(thread, event)
  }

  #start(): void {
    if (this.#kind.isAgain) return
    const { thread, provider = wireOf(this.#source.name).provider, model, parent } = this.#options
    if (thread === undefined) return
    if (this.#isApi) takeThread(this.#watch, thread, this)
    this.#emit(thread, {
      kind: 'turn.started',
      ...(provider === undefined ? {} : { provider }),
      ...(model === undefined ? {} : { model }),
      ...(parent === undefined ? {} : { parent }),
    })
  }

  get #isApi(): boolean {
    return wireOf(this.#source.name).isApi === true
  }

  /** Nothing that comes now is told any more, and the consumer holds nothing up. */
  #close(): void {
    this.#hold.asks()
    this.#over = true
    const { thread } = this.#options
    if (thread !== undefined) leaveThread(this.#watch, thread, this)
  }

  #toOpen(event: TurnEvent): void {
    for (const [thread, named] of this.#open.of(event)) this.#emit(thread, named)
  }

  #end(outcome: Outcome): void {
    const usage = this.#source.usageSoFar?.()
    this.#toOpen({ kind: 'turn.ended', outcome, ...(usage === undefined ? {} : { usage }) })
  }

  #text(direction: Direction): JsonEvents {
    const { name } = this.#source
    this.#texts[direction] ??= new JsonEvents(this.#kind.format ?? null, {
      onEvent: (raw) => this.#source.read(raw, this.#read, direction),
      onSentinel: (text) => {
        if (isSentinel(name, text)) this.#source.read(text, this.#read, direction)
      },
      onNotJson: () => this.#safely(() => this.#watch.unclassified(name, 'not JSON')),
      onTooLong: () => this.#fault(new RangeError('an event of more than 64 MiB was passed over')),
    })
    return this.#texts[direction]
  }

  #signals(): StopSignals {
    const { signal } = this.#options
    let found: StopSignals = {}
    this.#safely(() => {
      found = this.#kind.signals?.() ?? {}
    })
    return signal?.aborted ? { ...found, consumers: signal } : found
  }

  #safely(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fault(error)
    }
  }

  #fault(error: unknown): void {
    try {
      this.#watch.unreadable(this.#source.name, error)
    } catch {
      // A broken watch has nobody left to tell.
    }
  }
}

function messageOf(error: unknown): string | undefined {
  return text(error) ?? (isRaw(error) ? text(error.message) : undefined)
}
