/** What the command's output says of its turns: lines go to the source of their wire format, and its events to the watch. */

import type { TurnEvent } from '../../instrumentation/events.ts'
import {
  classify,
  createSource,
  type Direction,
  recognise,
  type Source,
  type SourceName,
  type SourceOptions,
} from '../../instrumentation/sources/index.ts'
import { JsonLines } from '../../instrumentation/taps/json-lines.ts'
import type { Turnwatch } from '../../turnwatch.ts'
import type { AgentCommand } from './recognise-command.ts'
import type { Exit } from './start-command.ts'

/** Output of no known format is looked at up to here. */
const MAX_UNKNOWN_LINES = 200
const MAX_UNKNOWN_BYTES = 1024 * 1024

/** Id of the wait while nothing can be read, because whoever reads our stdout is slow. */
const STDOUT = 'stdout'

export interface AgentOutputOptions {
  readonly watch: Turnwatch
  /** What the command line says. */
  readonly agent: AgentCommand | null
  /** Named by the user, whatever the command and its output look like. */
  readonly source?: SourceName | undefined
  readonly thread?: string | undefined
  readonly parent?: string | undefined
  readonly model?: string | undefined
  /** Told once that the output cannot be watched. */
  readonly onUnknown: () => void
}

export class AgentOutput {
  readonly #watch: Turnwatch
  readonly #options: AgentOutputOptions
  /** Lines by who sent them; null once nobody looks at them any more. */
  #lines: Record<Direction, JsonLines> | null
  #source: Source | null = null
  /** Whether the agent itself has spoken the format that we read. */
  #confirmed: boolean
  /** The thread of a turn that began with the command, until the wire names it. */
  #provisional: string | null = null

  constructor(options: AgentOutputOptions) {
    this.#watch = options.watch
    this.#options = options
    this.#confirmed = options.source !== undefined
    this.#lines = {
      in: new JsonLines((line) => this.#read(line, 'in')),
      out: new JsonLines((line) => this.#read(line, 'out')),
    }
    const named = options.source ?? options.agent?.source
    if (named !== undefined) this.#speak(named)
  }

  /** The command has started; its pid makes up the name of a thread that the wire has not named yet. */
  started(pid: number): void {
    const { agent, thread, parent, model } = this.#options
    if (!agent?.oneShot || agent.source !== this.#source?.name) return
    this.#provisional = thread ?? agent.session ?? `${agent.provider}-${pid}`
    const turn = this.#watch.startTurn({
      threadId: this.#provisional,
      provider: agent.provider,
      model: model ?? agent.model,
      parentThreadId: parent,
    })
    // As the wire's own start says it.
    if (agent.source === 'opencode-run-json') turn.observe({ kind: 'turn.started', blindTools: true })
  }

  /** Whether there is anything to watch, or may still be. */
  get watching(): boolean {
    return this.#confirmed || this.#provisional !== null || this.#lines === null
  }

  /** Takes bytes that the command wrote to its stdout (`in`) or gets on its stdin (`out`). */
  take(chunk: Buffer, direction: Direction): void {
    if (this.#lines === null) return
    this.#lines[direction].push(chunk)
    if (!this.#confirmed && direction === 'in') this.#giveUpIfUnknown()
  }

  /** Nothing can be read for now, or can again. */
  blocked(isBlocked: boolean): void {
    this.#all(isBlocked ? { kind: 'wait.started', id: STDOUT, reason: 'queue' } : { kind: 'wait.ended', id: STDOUT })
  }

  /** The user wants the command to stop. */
  interrupted(): void {
    this.#all({ kind: 'interrupt.requested' })
  }

  /** All that the command wrote was taken, and it is gone. */
  exited({ code, signal }: Exit): void {
    const lines = this.#lines
    lines?.in.end()
    this.#lines = null
    if (!this.#confirmed && this.#provisional === null && (lines?.in.bytes ?? 0) > 0) this.#options.onUnknown()
    this.#all({ kind: 'exit', code, signal })
  }

  /** Nothing more can be known: what still runs ends so. */
  end(outcome: 'aborted' | 'lost'): void {
    this.#lines = null
    this.#all({ kind: 'turn.ended', outcome })
  }

  #read(line: string, direction: Direction): void {
    // A line that ended the watching may have more behind it in its chunk.
    if (this.#lines === null) return
    let raw: unknown
    try {
      raw = JSON.parse(line)
    } catch {
      return
    }
    if (!this.#confirmed) this.#recognise(raw, direction)
    // Until then it may be JSON of something else, such as a log of the agent's installer.
    if (this.#confirmed || direction === 'out') this.#source?.read(raw, this.#emit, direction)
  }

  #recognise(raw: unknown, direction: Direction): void {
    const expected = this.#source?.name
    const name = recognise(raw) ?? (expected !== undefined && classify(expected, raw).key !== null ? expected : null)
    if (name === null) return
    // What our side sends is a hint; what the agent says is certain.
    if (direction === 'in') this.#confirmed = true
    if (name === expected || (direction === 'out' && expected !== undefined)) return
    if (this.#provisional !== null) this.#dropProvisional()
    this.#speak(name)
  }

  #speak(name: SourceName): void {
    const { thread, parent, agent, model = agent?.model } = this.#options
    const options: SourceOptions = { thread, parent, model, onUnclassified: this.#watch.unclassified }
    this.#source = createSource(name, options)
  }

  readonly #emit = (threadId: string, event: TurnEvent): void => {
    if (this.#provisional !== null) {
      this.#watch.renameThread(this.#provisional, threadId)
      this.#provisional = null
    }
    this.#watch.observe(threadId, event)
  }

  #giveUpIfUnknown(): void {
    const lines = this.#lines?.in
    if (lines === undefined) return
    const tooMuch = lines.lines >= MAX_UNKNOWN_LINES || (lines.bytes > MAX_UNKNOWN_BYTES && !lines.pending)
    if (!tooMuch) return
    this.#lines = null
    this.#source = null
    if (this.#provisional !== null) this.#dropProvisional()
    this.#options.onUnknown()
  }

  /** It was another agent than the command says. An aborted turn teaches nothing. */
  #dropProvisional(): void {
    if (this.#provisional !== null) this.#watch.observe(this.#provisional, { kind: 'turn.ended', outcome: 'aborted' })
    this.#provisional = null
  }

  /** To every running turn; all of them are this command's. */
  #all(event: TurnEvent): void {
    for (const { threadId, turn } of this.#watch.threads()) if (turn !== null) this.#watch.observe(threadId, event)
  }
}
