/**
 * One response of a model API as a turn. The response's own id stands on every event of it, so that what comes after its
 * end opens no other turn.
 */

import { type Outcome, opensTurn, type TokenStream, type TurnEvent, type Usage } from '../events.ts'
import { type Emit, type SourceOptions, TOKEN, turnStarted } from './source.ts'

/** What came after the end of a turn without an id. */
const LATE: TurnEvent = Object.freeze({ kind: 'side', what: 'after-end' })

interface Origin {
  readonly provider: string
  readonly model?: string | undefined
  readonly parent?: string | undefined
}

export class ResponseTurn {
  readonly thread: string
  /** Undefined where the wire has named none. */
  readonly id: string | undefined
  /** Whether the wire was read from the middle of the turn on. */
  joined = false
  #state: 'new' | 'running' | 'ended' = 'new'
  #model: string | undefined
  readonly #origin: Origin
  readonly #tokens: Readonly<Record<TokenStream, TurnEvent>>

  constructor(origin: Origin, thread: string, id: string | undefined) {
    this.#origin = origin
    this.thread = thread
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
    return this.id === undefined ? event : { ...event, turn: this.id }
  }
}

/** The turns of one connection, of which one runs at a time. */
export class ResponseTurns {
  /** What names no response belongs to it. */
  current: ResponseTurn
  readonly #origin: Origin
  readonly #thread: string | undefined

  /** `vendor` is the provider where the options name none, and the thread where nothing names one. */
  constructor(vendor: string, { thread, provider = vendor, model, parent }: SourceOptions) {
    this.#origin = { provider, model, parent }
    this.#thread = thread
    this.current = this.make(undefined)
  }

  /** A turn that has not begun. */
  make(id: string | undefined, thread: string | undefined = id): ResponseTurn {
    return new ResponseTurn(this.#origin, this.#thread ?? thread ?? this.#origin.provider, id)
  }

  /** Begins a turn, or tells the model of the one that runs. Another one that still ran was given up. */
  begin(id: string | undefined, model: string | undefined, emit: Emit, thread: string | undefined = id): ResponseTurn {
    const { current } = this
    const next = this.make(id, thread)
    const goesOn = current.running && !current.joined && current.id === id && current.thread === next.thread
    if (!goesOn) {
      if (current.running) current.end('aborted', undefined, emit)
      this.current = next
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
}
