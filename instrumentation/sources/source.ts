/** What every source is: it takes raw provider events and says which threads had which TurnEvents. */

import { dropOldest } from '../drop-oldest.ts'
import type { TurnEvent, Usage, WaitReason } from '../events.ts'
import { UNKNOWN } from '../events.ts'
import { type Classified, idsOf, type Raw, reader } from './classifier.ts'

export const SOURCE_NAMES = [
  'claude-code-stream-json',
  'codex-exec-json',
  'codex-app-server',
  'opencode-sse',
  'opencode-run-json',
  'anthropic-messages',
  'openai-responses',
  'openrouter-responses',
  'openai-chat-chunk',
  'ai-sdk-fullstream',
  'ai-sdk-fullstream-v6',
  'ai-sdk-ui-stream',
  'acp',
  'mcp',
  't3-canonical',
  't3-native',
] as const
export type SourceName = (typeof SOURCE_NAMES)[number]

/** Takes an event of a thread; `Turnwatch.observe` is one. */
export type Emit = (threadId: string, event: TurnEvent) => void

/** `out`: our side sent it, so a reply in it ends a wait. */
export type Direction = 'in' | 'out'

export interface SourceOptions {
  /** The thread's id, instead of the session id on the wire. Without it, a connection whose wire has none is a thread. */
  readonly thread?: string | undefined
  /** The thread that started it, where the wire does not say. */
  readonly parent?: string | undefined
  /** The model, where the wire does not say. */
  readonly model?: string | undefined
  /** The provider, where the wire does not say. @default the vendor of the wire */
  readonly provider?: string | undefined
  /** Epoch ms now, for announced back-offs. @default Date.now */
  readonly wallMs?: () => number
  /** Hears of event types that the source does not know. */
  readonly onUnclassified?: (source: string, type: string) => void
  /** Hears of events that could not be read, such as one with a getter that throws. */
  readonly onUnreadable?: (source: string, error: unknown) => void
}

/** What a source or a tap tells; `Turnwatch` is one. */
export interface Watcher {
  readonly observe: Emit
  readonly unclassified: (source: string, type: string) => void
  readonly unreadable: (source: string, error: unknown) => void
}

export interface Source {
  readonly name: SourceName
  /** Takes one raw event; anything that is none is passed over. Never throws. */
  read(raw: unknown, emit: Emit, direction?: Direction): void
  /** What the turn that runs has used, on wires that tell it before the end, one turn at a time. */
  usageSoFar?(): Usage | undefined
}

const WAIT_REASON: Readonly<Record<string, WaitReason>> = {
  approval: 'approval',
  lifecycle: 'approval',
  'user-input': 'input',
  input: 'input',
  auth: 'auth',
  hook: 'hook',
  subagent: 'subagent',
  compaction: 'compaction',
}

/** The one pseudo tool that is a wait. */
const COMPACTION = 'compaction'

const RETRY = 'retry'

function numberAt(raw: Raw, path: string | undefined): number | undefined {
  if (path === undefined) return undefined
  const value = reader(path)(raw)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Tokens and side events are shared objects: a token allocates nothing. */
export const TOKEN = {
  text: Object.freeze({ kind: 'token', stream: 'text' } as const),
  reasoning: Object.freeze({ kind: 'token', stream: 'reasoning' } as const),
  'tool-args': Object.freeze({ kind: 'token', stream: 'tool-args' } as const),
}

/** The stream of content whose kind alone says it; undefined where the item has to be looked at. */
export function streamOfKind(kind: string | undefined): 'text' | 'reasoning' | 'tool-args' | undefined {
  if (kind === 'token') return 'text'
  return kind === 'reasoning' || kind === 'tool-args' ? kind : undefined
}

/** Ids and, where the wire has them, names of tools that start. */
export interface ToolStart {
  readonly id: string
  readonly name?: string | undefined
}

/**
 * The TurnEvents that tool, wait and neutral classes stand for. Content, turn starts and terminals need more than the
 * class, so sources make those themselves.
 */
export function* plainEvents(
  raw: Raw,
  found: Classified,
  wallMs: number,
  tools?: readonly ToolStart[],
): Generator<TurnEvent> {
  switch (found.class) {
    case 'tool-start':
      for (const { id, name } of tools ?? idsOf(raw, found.id).map((id) => ({ id, name: undefined }))) {
        if (id === COMPACTION) yield { kind: 'wait.started', id, reason: 'compaction' }
        else yield name === undefined ? { kind: 'tool.started', id } : { kind: 'tool.started', id, name }
      }
      return
    case 'tool-end':
      for (const id of idsOf(raw, found.id)) {
        yield id === COMPACTION ? { kind: 'wait.ended', id } : { kind: 'tool.ended', id }
      }
      return
    case 'wait-start':
      for (const id of idsOf(raw, found.id)) {
        yield { kind: 'wait.started', id, reason: WAIT_REASON[found.kind ?? ''] ?? 'approval' }
      }
      return
    case 'wait-end':
      for (const id of idsOf(raw, found.id)) yield { kind: 'wait.ended', id }
      return
    default:
      yield neutralEvent(raw, found, wallMs)
  }
}

/** Of kind `retry` in the tables, but no model call is replaced: what is open stays open. */
const NO_ATTEMPT: ReadonlySet<string | null> = new Set([
  'system/control_request_progress',
  'model/safetyBuffering/updated',
])

function neutralEvent(raw: Raw, found: Classified, wallMs: number): TurnEvent {
  const what = found.key ?? UNKNOWN
  if (found.heartbeat) return { kind: 'side', what }
  const holdMs = numberAt(raw, found.holdMs)
  const until = holdMs === undefined ? numberAt(raw, found.holdUntil) : wallMs + holdMs
  if (until !== undefined) return { kind: 'wait.started', id: RETRY, reason: 'retry', until }
  return found.kind === 'retry' && !NO_ATTEMPT.has(found.key) ? { kind: 'attempt.started' } : { kind: 'side', what }
}

/** What is told of events that have no type, on wires where each has one. */
export const NO_TYPE = 'no type'

/** Whether the name of an unknown event says that it is only a sign of a living connection. */
export function isKeepAlive(type: string): boolean {
  const words = type
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
  return (
    words.some((word) => /^(pings?|pong|heartbeats?|keepalives?)$/.test(word)) || /keep.?alive|heart.?beat/i.test(type)
  )
}

/** The start of a turn, with what the wire or the options say of it. */
export function turnStarted(
  provider: string,
  known: { model?: string | undefined; parent?: string | undefined; blindTools?: true },
): TurnEvent & { kind: 'turn.started' } {
  const { model, parent, blindTools } = known
  return {
    kind: 'turn.started',
    provider,
    ...(model === undefined ? {} : { model }),
    ...(parent === undefined ? {} : { parent }),
    ...(blindTools === undefined ? {} : { blindTools }),
  }
}

/** An event of a type that no table has: progress, unless its name says that it is only a sign of a connection. */
export function unknownEvent(type: string): TurnEvent {
  return isKeepAlive(type) ? { kind: 'side', what: UNKNOWN } : { kind: 'progress', what: UNKNOWN }
}

/** Threads as a source names them: the option's name for the first session, the wire's for all others. */
export class ThreadIds {
  readonly #given: string | undefined
  #first: string | undefined

  constructor(given: string | undefined) {
    this.#given = given
  }

  of(session: string): string {
    if (this.#given === undefined) return session
    this.#first ??= session
    return session === this.#first ? this.#given : session
  }
}

/** The last `limit` members only: what a source remembers of a wire must stay bounded. */
export class RecentSet {
  readonly #members = new Set<string>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  add(member: string): void {
    this.#members.add(member)
    dropOldest(this.#members, this.#limit)
  }

  has(member: string): boolean {
    return this.#members.has(member)
  }
}
