/**
 * The hosted tools of a response: which run. One runs from when the model has written what it is called with; until then
 * the silence is the model's.
 */

import { dropOldest } from '../drop-oldest.ts'
import type { TurnEvent } from '../events.ts'
import { isRaw, type Raw, text } from './classifier.ts'
import { either } from './openai-fields.ts'
import { toolEnded, toolStarted } from './tool-events.ts'

/** Starts of tools whose arguments are written after them. */
const ANNOUNCED: ReadonlySet<string> = new Set([
  'response.mcp_call.in_progress',
  'response.code_interpreter_call.in_progress',
])

/** What shows that the arguments of a tool are whole. */
const WRITTEN: ReadonlyMap<string, string> = new Map([
  ['response.mcp_call_arguments.done', 'mcp_call'],
  ['response.code_interpreter_call_code.done', 'code_interpreter_call'],
  ['response.code_interpreter_call.interpreting', 'code_interpreter_call'],
])

const SHELL_OUTPUT: ReadonlySet<string> = new Set([
  'response.shell_call_output_content.delta',
  'response.shell_call_output_content.done',
])

/** Tools remembered of a response. */
const MAX_TOOLS = 1000

/** A call of the hosted shell. The wire has no events for its start and end. */
interface Shell {
  readonly id: string
  readonly call: string | undefined
}

export class HostedTools {
  readonly #open = new Set<string>()
  /** Shell calls by their place in the output; null for those that the client runs. */
  readonly #shells = new Map<unknown, Shell | null>()
  #shell: Shell | undefined

  /** A tool starts, or is announced. */
  started(raw: Raw, what: string): TurnEvent {
    if (ANNOUNCED.has(what)) return { kind: 'progress', what }
    return this.#start(itemId(raw), what.split('.')[1], what)
  }

  ended(raw: Raw, what: string): TurnEvent {
    const id = itemId(raw)
    if (id !== undefined) this.#open.delete(id)
    return toolEnded(id, what)
  }

  /** Whether a whole item is that of a tool that runs, which ends it where the wire had no event for that. */
  endedAs(item: string): boolean {
    return this.#open.delete(item)
  }

  /** Keeps what an item that is added says of a shell. */
  added(raw: Raw): void {
    const item = isRaw(raw.item) ? raw.item : {}
    const id = text(item.id)
    if (item.type !== 'shell_call' || id === undefined) return
    const isLocal = isRaw(item.environment) && item.environment.type === 'local'
    this.#shells.set(placeOf(raw), isLocal ? null : { id, call: callOf(item) })
    dropOldest(this.#shells, MAX_TOOLS)
  }

  /** The tool that starts now that what it is called with is whole; undefined where none does. */
  written(raw: Raw, what: string): TurnEvent | undefined {
    if (what === 'response.shell_call_command.done') return this.#startShell(raw)
    const name = WRITTEN.get(what)
    const id = name === undefined ? undefined : itemId(raw)
    return id === undefined || this.#open.has(id) ? undefined : this.#start(id, name, what)
  }

  /** The end of a shell that ran, now that the response goes on; undefined where none did, or where it goes on itself. */
  shellEnded(raw: Raw, what: string): TurnEvent | undefined {
    const shell = this.#shell
    if (shell === undefined || SHELL_OUTPUT.has(what) || (isRaw(raw.item) && isBeside(shell, raw.item)))
      return undefined
    this.#shell = undefined
    return { kind: 'tool.ended', id: shell.id }
  }

  forget(): void {
    this.#open.clear()
    this.#shells.clear()
    this.#shell = undefined
  }

  #start(id: string | undefined, name: string | undefined, what: string): TurnEvent {
    if (id !== undefined) this.#open.add(id)
    dropOldest(this.#open, MAX_TOOLS)
    return toolStarted(id, name, what)
  }

  #startShell(raw: Raw): TurnEvent | undefined {
    const id = itemId(raw)
    const known = this.#shells.get(placeOf(raw))
    const shell = known === undefined && id !== undefined ? { id, call: undefined } : known
    if (shell == null) return undefined
    this.#shell = shell
    return { kind: 'tool.started', id: shell.id, name: 'shell_call' }
  }
}

/** Whether a whole item says nothing of the end of a shell: it is the call itself, or what another call gave. */
function isBeside(shell: Shell, item: Raw): boolean {
  if (item.type === 'shell_call') return item.id === shell.id
  const call = callOf(item)
  return item.type === 'shell_call_output' && call !== undefined && shell.call !== undefined && call !== shell.call
}

function itemId(raw: Raw): string | undefined {
  return text(either(raw, 'item_id', 'itemId'))
}

function callOf(item: Raw): string | undefined {
  return text(either(item, 'call_id', 'callId'))
}

function placeOf(raw: Raw): unknown {
  return either(raw, 'output_index', 'outputIndex')
}
