/**
 * The Model Context Protocol: one connection, on either side of it. A turn lasts while calls of tools are open; the
 * model is not visible here, so that a turn always has an open tool.
 */

import { dropOldest } from '../drop-oldest.ts'
import type { Outcome, TurnEvent } from '../events.ts'
import { type Classified, Classifier, isRaw, type Raw, text } from './classifier.ts'
import { mcpEvents } from './mcp-events.ts'
import { ownThread } from './own-thread.ts'
import {
  type Direction,
  type Emit,
  NO_TYPE,
  plainEvents,
  type Source,
  type SourceOptions,
  turnStarted,
  unknownEvent,
} from './source.ts'

const NAME = 'mcp'

export const mcpClassifier = new Classifier(mcpEvents, ['{method}'])

/** A request that is open, or a task that goes on after the answer to its request. */
interface Open {
  readonly id: string
  /** Calls keep the turn running; other requests are parts of it. `result` asks for that of the task `id`. */
  readonly is: 'call' | 'tool' | 'wait' | 'result'
  readonly name?: string | undefined
}

const TASK_OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ['completed', 'completed'],
  // A tool that fails is no failed turn.
  ['failed', 'completed'],
  ['cancelled', 'aborted'],
])

const MAX_OPEN = 1000

export class McpSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #thread: string
  readonly #wallMs: () => number
  /** By direction and request id: those of the two sides are independent. Tasks by their id. */
  readonly #open = new Map<string, Open>()
  /** Tasks that need input. */
  readonly #paused = new Set<string>()
  readonly #seen = new Set<Direction>()

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#wallMs = options.wallMs ?? Date.now
    this.#thread = options.thread ?? ownThread(NAME, this.#wallMs())
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw)) return
    const method = text(raw.method)
    this.#seen.add(direction)
    if (method === undefined) return this.#answered(raw, direction, emit)
    const params = isRaw(raw.params) ? raw.params : {}
    const found = mcpClassifier.classify(raw)
    switch (found.key) {
      case 'tools/call':
        return this.#requested(raw, direction, 'call', emit, text(params.name))
      case 'sampling/createMessage':
        return this.#requested(raw, direction, 'tool', emit)
      case 'elicitation/create':
        return this.#requested(raw, direction, 'wait', emit)
      case 'tasks/result':
        return this.#asked(raw, direction, params)
      case 'notifications/cancelled':
        return this.#close(`${direction} ${params.requestId}`, 'aborted', emit)
      case 'notifications/tasks/status':
        return this.#task(params, emit)
      case null:
        this.#options.onUnclassified?.(NAME, method)
        return this.#send(unknownEvent(method), emit)
      default:
        this.#other(raw, found, emit)
    }
  }

  #requested(raw: Raw, direction: Direction, is: Open['is'], emit: Emit, name?: string): void {
    const request = requestId(raw)
    const key = `${direction} ${request}`
    if (request === undefined || this.#open.has(key)) return
    // Outside of a call, no turn runs that could wait for it.
    if (is !== 'call' && !this.#isRunning()) return this.#send({ kind: 'side', what: String(raw.method) }, emit)
    const id = this.#freeId(request)
    if (!this.#isRunning()) this.#send(this.#turnStarted(), emit)
    this.#keep(key, { id, is, name })
    this.#send(is === 'wait' ? { kind: 'wait.started', id, reason: 'input' } : started(id, name), emit)
  }

  /** The answer comes when the task is over. */
  #asked(raw: Raw, direction: Direction, params: Raw): void {
    const request = requestId(raw)
    const id = text(params.taskId)
    if (request !== undefined && id !== undefined) this.#keep(`${direction} ${request}`, { id, is: 'result' })
  }

  #answered(raw: Raw, direction: Direction, emit: Emit): void {
    const request = requestId(raw)
    if (request === undefined) {
      // An error may answer what could not be read.
      if (!isRaw(raw.error)) this.#options.onUnclassified?.(NAME, NO_TYPE)
      return
    }
    const key = this.#keyOfAnswer(request, direction)
    const result = isRaw(raw.result) ? raw.result : {}
    const open = this.#open.get(key)
    // The state of a task, asked for.
    if (open === undefined) return text(result.taskId) === undefined ? undefined : this.#task(result, emit)
    const task = isRaw(result.task) ? result.task : {}
    const taskId = text(task.taskId)
    if (open.is === 'call' && taskId !== undefined) {
      // The call was only taken: what it does goes on as a task.
      this.#keep(taskKey(taskId), { ...open, id: taskId })
      this.#send(started(taskId, open.name), emit)
      this.#close(key, 'completed', emit)
      return this.#task(task, emit)
    }
    this.#close(key, isRaw(raw.error) ? 'error' : 'completed', emit)
  }

  /** What a task says of itself. One that no call of this connection began may still hold up the turn. */
  #task(task: Raw, emit: Emit): void {
    const id = text(task.taskId)
    const status = text(task.status)
    if (id === undefined || status === undefined || !this.#isRunning()) return
    if (status === 'input_required') {
      this.#paused.add(id)
      return this.#send({ kind: 'wait.started', id, reason: 'input' }, emit)
    }
    if (this.#paused.delete(id)) this.#send({ kind: 'wait.ended', id }, emit)
    const outcome = TASK_OUTCOMES.get(status)
    if (outcome === undefined) this.#send({ kind: 'side', what: 'notifications/tasks/status' }, emit)
    else if (this.#open.has(taskKey(id))) this.#close(taskKey(id), outcome, emit)
    else this.#send({ kind: 'tool.ended', id }, emit)
  }

  /** The last call that ends ends the turn, and whatever else of it was open. */
  #close(key: string, outcome: Outcome, emit: Emit): void {
    const open = this.#open.get(key)
    if (open === undefined) return
    this.#open.delete(key)
    if (open.is === 'result') return this.#close(taskKey(open.id), outcome, emit)
    this.#send({ kind: open.is === 'wait' ? 'wait.ended' : 'tool.ended', id: open.id }, emit)
    if (open.is !== 'call' || this.#isRunning()) return
    this.#open.clear()
    this.#paused.clear()
    this.#send({ kind: 'turn.ended', outcome }, emit)
  }

  #other(raw: Raw, found: Classified, emit: Emit): void {
    for (const event of plainEvents(raw, found, this.#wallMs())) {
      if (event.kind === 'side' || this.#isRunning()) this.#send(event, emit)
    }
  }

  #keep(key: string, open: Open): void {
    this.#open.set(key, open)
    dropOldest(this.#open, MAX_OPEN)
  }

  #isRunning(): boolean {
    for (const { is } of this.#open.values()) if (is === 'call') return true
    return false
  }

  /** An answer goes the other way than its request; a host may give no directions at all. */
  #keyOfAnswer(request: string, direction: Direction): string {
    const key = `${direction === 'in' ? 'out' : 'in'} ${request}`
    return this.#seen.size === 1 && !this.#open.has(key) ? `${direction} ${request}` : key
  }

  /** Requests of the two sides may have the same id, but not the tools of one turn. */
  #freeId(request: string): string {
    for (const { id } of this.#open.values()) if (id === request) return `${request}.2`
    return request
  }

  #turnStarted(): TurnEvent {
    const { provider = NAME, model, parent } = this.#options
    return turnStarted(provider, { model, parent })
  }

  #send(event: TurnEvent, emit: Emit): void {
    emit(this.#thread, event)
  }
}

function started(id: string, name: string | undefined): TurnEvent {
  return name === undefined ? { kind: 'tool.started', id } : { kind: 'tool.started', id, name }
}

function taskKey(id: string): string {
  return `task ${id}`
}

function requestId(raw: Raw): string | undefined {
  return typeof raw.id === 'string' || typeof raw.id === 'number' ? String(raw.id) : undefined
}
