/**
 * One response of a model API as a turn. An id of its own stands on every event of it, so that what comes after its end
 * opens no other turn.
 */

import { dropOldest } from '../drop-oldest.ts'
import { type Outcome, opensTurn, type TokenStream, type TurnEvent, type Usage, withTurn } from '../events.ts'
import { ownThread } from './own-thread.ts'
import { type Emit, type SourceOptions, TOKEN, turnStarted } from './source.ts'

/** What came after the end of a turn without an id. */
const LATE: TurnEvent = Object.freeze({ kind: 'side', what: 'after-end' })

/** Responses of one connection whose ids are remembered: servers draw them from as few as 999. */
const MAX_RESPONSES = 1000

interface Origin {
  readonly provider: string
  readonly model?: string | undefined
  readonly parent?: string | undefined
}

export class ResponseTurn {
  readonly thread: string
  /** The response's id on the wire. Undefined where that has named none. */
  readonly response: string | undefined
  /** The turn's id. Undefined where the response has none. */
  readonly id: string | undefined
  /** Whether the wire was read from the middle of the turn on. */
  joined = false
  #state: 'new' | 'running' | 'ended' = 'new'
  #model: string | undefined
  readonly #origin: Origin
  readonly #tokens: Readonly<Record<TokenStream, TurnEvent>>

  constructor(origin: Origin, thread: string, response: string | undefined, id: string | undefined) {
    this.#origin = origin
    this.thread = thread
    this.response = response
    this.id = id
    const named = (stream: TokenStream): TurnEvent =>
      id === undefined ? TOKEN[stream] : Object.freeze({ ...TOKEN[stream], turn: id })
    this.#tokens = { text: named('text'), reasoning: named('reasoning'), 'tool-args': named('tool-args') }
  }

  get begun(): boolean {
    return this.#state !== 'new'
  }

  get running(): boolean {
    return this.#state === 'running'
  }

  get ended(): boolean {
    return this.#state === 'ended'
  }

  /** Begins the turn, or tells of the running one what is known only now. */
  start(model: string | undefined, emit: Emit): void {
    const known = model ?? this.#model ?? this.#origin.model
    if (this.running && known === this.#model) return
    this.#model = known
    this.#state = 'running'
    const started = turnStarted(this.#origin.provider, { model: known, parent: this.#origin.parent })
    emit(this.thread, this.#named(started))
  }

  /** A token of the turn: shared, so that it allocates nothing. */
  token(stream: TokenStream): TurnEvent {
    return this.id === undefined && this.ended ? LATE : this.#tokens[stream]
  }

  /** The event as one of this turn. Where no id says that it belongs to a turn that is over, it must not open another. */
  of(event: TurnEvent): TurnEvent {
    return this.id === undefined && this.ended && opensTurn(event) ? LATE : this.#named(event)
  }

  /** Ends the turn; of its ends the first counts. */
  end(outcome: Outcome, usage: Usage | undefined, emit: Emit): void {
    if (this.ended) return emit(this.thread, this.#named(LATE))
    this.#state = 'ended'
    emit(this.thread, this.#named({ kind: 'turn.ended', outcome, ...(usage === undefined ? {} : { usage }) }))
  }

  /** Ends the turn by an error of the provider. One that fails before it began is a turn all the same. */
  fail(message: string, usage: Usage | undefined, emit: Emit): void {
    if (!this.begun) this.start(undefined, emit)
    if (this.running) emit(this.thread, this.#named({ kind: 'error', message }))
    this.end('error', usage, emit)
  }

  #named(event: TurnEvent): TurnEvent {
    return withTurn(event, this.id)
  }
}

/**
 * Ids of the turns on one connection. Servers give ids again, on the same connection and on others, so the time at which
 * the connection was made is part of a turn's id, and how often its response's id has come.
 */
class ResponseTurnIds {
  /** Turns that each response's id has begun. */
  readonly #begun = new Map<string, number>()
  readonly #connection: string

  constructor(wallMs: number) {
    this.#connection = Math.round(wallMs).toString(36)
  }

  /** The id of the last turn of a response. */
  of(response: string): string {
    const begun = this.#begun.get(response) ?? 1
    return begun === 1 ? `${response}-${this.#connection}` : `${response}-${this.#connection}.${begun}`
  }

  /** The id of a new turn of it. */
  next(response: string): string {
    const begun = this.#begun.get(response) ?? 0
    this.#begun.delete(response)
    this.#begun.set(response, begun + 1)
    dropOldest(this.#begun, MAX_RESPONSES)
    return this.of(response)
  }
}

/** The turns of one connection, of which one runs at a time. */
export class ResponseTurns {
  /** What names no response belongs to it. */
  current: ResponseTurn
  readonly #origin: Origin
  readonly #thread: string | undefined
  /** The thread of what names none. */
  readonly #unnamed: string
  readonly #ids: ResponseTurnIds

  /** `vendor` is the provider where the options name none. */
  constructor(vendor: string, { thread, provider = vendor, model, parent, wallMs = Date.now }: SourceOptions) {
    const madeAt = wallMs()
    this.#origin = { provider, model, parent }
    this.#thread = thread
    this.#unnamed = thread ?? ownThread(provider, madeAt)
    this.#ids = new ResponseTurnIds(madeAt)
    this.current = this.make(undefined)
  }

  /** A turn of a response that has not begun. */
  make(response: string | undefined, thread: string | undefined = response): ResponseTurn {
    return this.#turn(response, thread, response === undefined ? undefined : this.#ids.next(response))
  }

  /** What is told late of an earlier response belongs to its last turn. */
  late(response: string): ResponseTurn {
    return this.#turn(response, response, this.#ids.of(response))
  }

  /**
   * Begins a turn, or tells the model of the one that runs. Another one that still ran was given up; `usage` is what is
   * known of its.
   */
  begin(
    response: string | undefined,
    model: string | undefined,
    emit: Emit,
    { thread = response, usage }: { thread?: string | undefined; usage?: Usage | undefined } = {},
  ): ResponseTurn {
    const { current } = this
    const goesOn =
      current.running && !current.joined && current.response === response && current.thread === this.#threadOf(thread)
    if (!goesOn) {
      if (current.running) current.end('aborted', usage, emit)
      this.current = this.make(response, thread)
    }
    this.current.start(model, emit)
    return this.current
  }

  /** The turn that content belongs to: the current one, or one whose start was not seen. */
  open(emit: Emit): ResponseTurn {
    const { current } = this
    if (current.begun && !(current.ended && current.joined)) return current
    this.current = this.make(undefined)
    this.current.joined = true
    this.current.start(undefined, emit)
    return this.current
  }

  #turn(response: string | undefined, thread: string | undefined, id: string | undefined): ResponseTurn {
    return new ResponseTurn(this.#origin, this.#threadOf(thread), response, id)
  }

  #threadOf(named: string | undefined): string {
    return this.#thread ?? named ?? this.#unnamed
  }
}
