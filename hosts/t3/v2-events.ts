/**
 * Events of T3's second engine: whole objects with their status, no deltas. What is new in one is found by comparing it
 * with what came before.
 */

import type { TurnEvent, WaitReason } from '../../instrumentation/events.ts'
import { entry, isRaw, type Raw, text } from '../../instrumentation/sources/classifier.ts'
import { TOKEN } from '../../instrumentation/sources/source.ts'

/** Items that hold the model's own words. */
const TEXT_ITEMS: Readonly<Record<string, 'text' | 'reasoning'>> = {
  assistant_message: 'text',
  proposed_plan: 'text',
  reasoning: 'reasoning',
}

/** Items that say nothing of the turn's progress. */
const SIDE_ITEMS: ReadonlySet<string> = new Set(['user_message', 'notification', 'handoff'])

const TOOL_ITEMS: ReadonlySet<string> = new Set([
  'command_execution',
  'file_change',
  'mcp_tool_call',
  'dynamic_tool',
  'dynamic_tool_call',
  'collab_agent_tool_call',
  'web_search',
  'file_search',
  'image_view',
  'image_generation',
])

const WAIT_ITEMS: Readonly<Record<string, WaitReason>> = {
  subagent: 'subagent',
  compaction: 'compaction',
  context_compaction: 'compaction',
}

const OPEN: ReadonlySet<unknown> = new Set(['pending', 'running', 'waiting'])

const REQUEST_REASONS: Readonly<Record<string, WaitReason>> = {
  user_input: 'input',
  tool_user_input: 'input',
  auth_refresh: 'auth',
}

/** What came before of the messages and items of a turn. */
export class Snapshots {
  readonly #lengths = new Map<string, number>()

  /** Whether a text has grown, or is there for the first time. */
  grew(id: string, content: unknown): boolean {
    const length = typeof content === 'string' ? content.length : 0
    const before = this.#lengths.get(id) ?? 0
    if (length <= before) return false
    this.#lengths.set(id, length)
    return true
  }
}

/** What an event other than a turn's start or end says of the turn. */
export function* eventsOf(event: Raw, seen: Snapshots): Generator<TurnEvent> {
  const type = text(event.type) ?? 'unknown'
  switch (type) {
    case 'message.updated': {
      const message = isRaw(event.message) ? event.message : {}
      const isNew = message.role === 'assistant' && seen.grew(`${message.id}`, message.text)
      yield isNew ? TOKEN.text : { kind: 'side', what: type }
      return
    }
    case 'turn_item.updated':
      yield* itemEvents(isRaw(event.turnItem) ? event.turnItem : {}, seen)
      return
    case 'runtime_request.updated': {
      const request = isRaw(event.runtimeRequest) ? event.runtimeRequest : {}
      const id = `${request.id}`
      if (request.status !== 'pending') yield { kind: 'wait.ended', id }
      else yield { kind: 'wait.started', id, reason: entry(REQUEST_REASONS, request.kind) ?? 'approval' }
      return
    }
    case 'subagent.updated': {
      const subagent = isRaw(event.subagent) ? event.subagent : {}
      const id = `subagent:${subagent.id}`
      if (OPEN.has(subagent.status)) yield { kind: 'wait.started', id, reason: 'subagent' }
      else yield { kind: 'wait.ended', id }
      return
    }
    case 'plan.updated':
      yield { kind: 'progress', what: type }
      return
    case 'node.updated':
    case 'provider_thread.updated':
    case 'provider_turn.updated':
    case 'provider_session.updated':
    case 'app_thread.created':
    case 'subagent_activation.updated':
      yield { kind: 'side', what: type }
      return
    default:
      yield { kind: 'progress', what: 'unknown' }
  }
}

function* itemEvents(item: Raw, seen: Snapshots): Generator<TurnEvent> {
  const type = text(item.type) ?? 'unknown'
  const id = `${item.id}`
  const isOpen = OPEN.has(item.status)
  const stream = entry(TEXT_ITEMS, type)
  const reason = entry(WAIT_ITEMS, type)
  if (stream !== undefined) {
    yield seen.grew(id, item.text) ? TOKEN[stream] : { kind: 'side', what: type }
  } else if (reason !== undefined) {
    yield isOpen ? { kind: 'wait.started', id, reason } : { kind: 'wait.ended', id }
  } else if (TOOL_ITEMS.has(type)) {
    yield isOpen
      ? { kind: 'tool.started', id, name: type, title: text(item.title) ?? null }
      : { kind: 'tool.ended', id }
  } else if (SIDE_ITEMS.has(type)) {
    yield { kind: 'side', what: type }
  } else {
    yield { kind: 'progress', what: type }
  }
}
