/** The one vocabulary between rooms: what happened to a turn. Times are stamped on receipt, never read from an event. */

export const PHASES = ['first-token', 'after-tool', 'mid-stream'] as const
/** Which part of the turn its silence is judged in. */
export type Phase = (typeof PHASES)[number]

export const OUTCOMES = ['completed', 'incomplete', 'aborted', 'error', 'lost'] as const
/** How a turn ended. `lost`: its provider is gone, or nothing was heard of it for a day. */
export type Outcome = (typeof OUTCOMES)[number]

export const WAIT_REASONS = [
  'approval',
  'input',
  'auth',
  'hook',
  'subagent',
  'background',
  'compaction',
  'retry',
  'queue',
  'wakeup',
] as const
/** What a turn waits for that is not its model. */
export type WaitReason = (typeof WAIT_REASONS)[number]

export type TokenStream = 'text' | 'reasoning' | 'tool-args'

/** Tokens that one turn has used, all of its model calls together, as the wire reports them. */
export interface Usage {
  /** Neither read from a prompt cache nor written to it. */
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  /** Of those written, the ones whose lifetime in the cache the wire tells. */
  cacheWriteByTtl?: { '5m'?: number; '1h'?: number }
}

interface OfTurn {
  /** The turn's id, on wires that name one. Without it the event belongs to the thread's current turn. */
  turn?: string
}

export type TurnEvent = OfTurn &
  (
    | { kind: 'turn.requested' }
    | {
        kind: 'turn.started'
        thread?: string
        provider?: string
        model?: string
        parent?: string
        /** The wire shows tools only when they are finished, so that their time looks like silence. */
        blindTools?: boolean
      }
    | { kind: 'turn.restored'; startedAt?: number; provider?: string; model?: string; parent?: string }
    | { kind: 'attempt.started' }
    | { kind: 'token'; stream: TokenStream }
    | { kind: 'progress'; what: string }
    | { kind: 'side'; what: string }
    | { kind: 'tool.started'; id: string; name?: string; title?: string | null }
    | { kind: 'tool.ended'; id: string }
    | { kind: 'wait.started'; id: string; reason: WaitReason; until?: number }
    | { kind: 'wait.ended'; id: string }
    | { kind: 'interrupt.requested' }
    | { kind: 'error'; message?: string }
    | { kind: 'exit'; code?: number | null; signal?: string | null }
    | { kind: 'turn.ended'; outcome: Outcome; usage?: Usage }
  )

type TurnEventKind = TurnEvent['kind']

/** `what` of an event whose type the source does not know; the turn clock bounds how long such events count as progress. */
export const UNKNOWN = 'unknown'

const STARTING: ReadonlySet<TurnEventKind> = new Set<TurnEventKind>([
  'turn.started',
  'turn.restored',
  'token',
  'progress',
  'tool.started',
  'wait.started',
])

/** The event as one of the turn with that id: itself where there is no id, or where it names that one already. */
export function withTurn(event: TurnEvent, turn: string | undefined): TurnEvent {
  return turn === undefined || event.turn === turn ? event : { ...event, turn }
}

/** Whether an event that names a turn never seen starts that turn. */
export function startsNamedTurn(event: TurnEvent): boolean {
  return STARTING.has(event.kind) && !(event.kind === 'progress' && event.what === UNKNOWN)
}

/** Whether an event without a turn id opens a new turn in a thread where none runs. */
export function opensTurn(event: TurnEvent): boolean {
  return startsNamedTurn(event) && event.kind !== 'wait.started'
}

/**
 * The parent that a thread id itself names: `sub.boss.one` was started by `boss`, `sub.sub.a.b.c` by `sub.a.b`.
 * Null for every other id.
 */
export function parentOfThread(threadId: string): string | null {
  if (!threadId.startsWith('sub.')) return null
  const lastDot = threadId.lastIndexOf('.')
  return lastDot > 4 ? threadId.slice(4, lastDot) : null
}

const EVENT_KINDS: ReadonlySet<string> = new Set<TurnEventKind>([
  'turn.requested',
  'attempt.started',
  'side',
  'tool.ended',
  'wait.ended',
  'interrupt.requested',
  'error',
  'exit',
  'turn.ended',
  ...STARTING,
])

const has = (list: readonly string[], value: unknown) => typeof value === 'string' && list.includes(value)

/** What is wrong with a value that claims to be a TurnEvent, in one phrase; null when it is one. */
export function turnEventFault(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return 'is not an object'
  const event = value as Record<string, unknown>
  if (typeof event.kind !== 'string' || !EVENT_KINDS.has(event.kind)) return `has unknown kind ${quote(event.kind)}`
  if (event.turn !== undefined && typeof event.turn !== 'string') return `has turn ${quote(event.turn)}, not a string`
  switch (event.kind as TurnEventKind) {
    case 'token':
      return has(['text', 'reasoning', 'tool-args'], event.stream) ? null : `has unknown stream ${quote(event.stream)}`
    case 'progress':
    case 'side':
      return typeof event.what === 'string' ? null : `has what ${quote(event.what)}, not a string`
    case 'tool.started':
    case 'tool.ended':
    case 'wait.ended':
      if (typeof event.id !== 'string') return `has id ${quote(event.id)}, not a string`
      return nameFault(event, ['name', 'title'])
    case 'wait.started':
      if (typeof event.id !== 'string') return `has id ${quote(event.id)}, not a string`
      if (event.until !== undefined && !Number.isFinite(event.until))
        return `has until ${quote(event.until)}, not a time`
      return has(WAIT_REASONS, event.reason) ? null : `has unknown reason ${quote(event.reason)}`
    case 'turn.started':
    case 'turn.restored':
      return nameFault(event, ['thread', 'provider', 'model', 'parent'])
    case 'turn.ended':
      return has(OUTCOMES, event.outcome) ? null : `has unknown outcome ${quote(event.outcome)}`
    default:
      return null
  }
}

function nameFault(event: Record<string, unknown>, names: readonly string[]): string | null {
  const wrong = names.find(
    (name) => event[name] !== undefined && event[name] !== null && typeof event[name] !== 'string',
  )
  return wrong === undefined ? null : `has ${wrong} ${quote(event[wrong])}, not a string`
}

function quote(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 80)
}
