/**
 * One session of the Agent Client Protocol and its turns. Where our prompts are visible its events carry the id of the
 * last prompt's turn, so that what an agent still says after the end opens no other; else they carry none.
 */

import { type Outcome, type TurnEvent, withTurn } from '../events.ts'
import { errorMessage, isCancellation } from './acp-messages.ts'
import type { Classified } from './classifier.ts'
import { type Emit, RecentSet, TOKEN, turnStarted } from './source.ts'

/** The wait of a session that needs its user. */
const BLOCKED = 'session'

const RECENT_TURNS = 1000

/**
 * Ids of the turns on one connection. Requests are counted from the first on every connection, and an agent's process
 * that starts again counts anew on the same one, so the time at which the connection was made is part of the id.
 */
export class AcpTurnIds {
  readonly #given = new RecentSet(RECENT_TURNS)
  readonly #connection: string
  #runs = 0

  constructor(wallMs: number) {
    this.#connection = Math.round(wallMs).toString(36)
  }

  ofPrompt(request: string): string {
    return this.#new(`prompt-${request}-${this.#connection}`)
  }

  /** Of work that the agent began by itself. */
  ofRun(): string {
    this.#runs++
    return this.#new(`run-${this.#runs}-${this.#connection}`)
  }

  #new(wanted: string): string {
    let id = wanted
    for (let again = 2; this.#given.has(id); again++) id = `${wanted}.${again}`
    this.#given.add(id)
    return id
  }
}

/** What is known of all sessions of a connection. */
export interface AcpSessionDefaults {
  readonly provider: string
  readonly model: string | undefined
  readonly parent: string | undefined
}

export class AcpSession {
  readonly thread: string
  model: string | undefined
  parent: string | undefined
  running = false
  /** Our requests that the agent answers only when it has told the history again. */
  readonly replays = new Set<string>()
  tokens: Readonly<Record<keyof typeof TOKEN, TurnEvent>> = TOKEN
  readonly #defaults: AcpSessionDefaults
  readonly #ids: AcpTurnIds
  #turn: string | undefined
  /** The turn of a prompt that the agent has not begun to work on. */
  #next: string | undefined
  /** Whether our side asked the running turn to stop. */
  #interrupted = false
  #blocked = false
  /** Tool calls that wait to be resumed. */
  readonly #paused = new Set<string>()

  constructor(thread: string, defaults: AcpSessionDefaults, ids: AcpTurnIds) {
    this.thread = thread
    this.#defaults = defaults
    this.#ids = ids
  }

  /** The turn of the session's last prompt; undefined while only the agent's side is visible. */
  get turn(): string | undefined {
    return this.#turn
  }

  send(event: TurnEvent, emit: Emit, turn = this.#turn): void {
    emit(this.thread, withTurn(event, turn))
  }

  /** A prompt of ours, whose turn's id it gives. An agent of version 1 says no more of the turn's start. */
  prompted(request: string, startsByItself: boolean, emit: Emit): string {
    const turn = this.#ids.ofPrompt(request)
    // What the agent tells from now on is no history.
    this.replays.clear()
    this.#next = turn
    if (!startsByItself) {
      this.running = false
      this.begin(emit)
    } else if (!this.running) emit(this.thread, { kind: 'turn.requested' })
    return turn
  }

  /** Whether the agent has not begun to work on a prompt. */
  awaits(turn: string): boolean {
    return this.#next === turn
  }

  /** The agent refused a prompt that it had not begun to work on. */
  refused(error: unknown, emit: Emit): void {
    this.#next = undefined
    // Beside a turn that runs, it says nothing of that turn.
    if (!this.running) emit(this.thread, { kind: 'error', message: errorMessage(error) })
  }

  /** The agent works: on a prompt, on, or, in version 2, of its own accord. */
  begin(emit: Emit): void {
    if (this.#blocked) this.send({ kind: 'wait.ended', id: BLOCKED }, emit)
    this.#blocked = false
    if (!this.running) {
      this.#name(this.#next ?? (this.#turn === undefined ? undefined : this.#ids.ofRun()))
      this.#next = undefined
      this.running = true
      this.#interrupted = false
      this.#paused.clear()
    }
    const { provider, model, parent } = this.#defaults
    this.send(turnStarted(provider, { model: this.model ?? model, parent: this.parent ?? parent }), emit)
  }

  /** Output or a tool of the agent: where no prompt is visible, it shows that a turn runs. */
  worked(emit: Emit): void {
    if (!this.running && this.#turn === undefined) this.begin(emit)
  }

  /** The agent needs the user before it can go on. */
  block(emit: Emit): void {
    if (!this.running) this.begin(emit)
    this.#blocked = true
    this.send({ kind: 'wait.started', id: BLOCKED, reason: 'approval' }, emit)
  }

  pause(call: string): void {
    this.#paused.add(call)
  }

  resume(call: string, emit: Emit): void {
    if (this.#paused.delete(call)) this.send({ kind: 'wait.ended', id: call }, emit)
  }

  interrupt(turn: string | undefined, emit: Emit): void {
    if (this.running && turn === this.#turn) this.#interrupted = true
    this.send({ kind: 'interrupt.requested' }, emit, turn)
  }

  /** A turn is over, as the agent's answer or state says. */
  end(turn: string | undefined, found: Classified, error: unknown, emit: Emit): void {
    const isCurrent = turn === this.#turn
    const isFailed = found.class === 'terminal-error'
    // Agents fail a prompt that they were asked to stop.
    const isStopped = isFailed && (isCancellation(error) || (isCurrent && this.#interrupted))
    const outcome: Outcome = isStopped ? 'aborted' : (found.outcome ?? 'completed')
    if (isCurrent) {
      this.running = false
      this.#blocked = false
    }
    if (isFailed && !isStopped) this.send({ kind: 'error', message: errorMessage(error) }, emit, turn)
    this.send({ kind: 'turn.ended', outcome }, emit, turn)
  }

  #name(turn: string | undefined): void {
    if (turn === undefined) return
    const of = (stream: keyof typeof TOKEN) => Object.freeze({ ...TOKEN[stream], turn })
    this.#turn = turn
    this.tokens = { text: of('text'), reasoning: of('reasoning'), 'tool-args': of('tool-args') }
  }
}
