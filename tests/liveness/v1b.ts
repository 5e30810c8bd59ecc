/**
 * The v1b liveness contract: what its decoder takes, and a small server of it, by its own rules and clock, to compare
 * answers with.
 */

import { z } from 'zod'
import type { TurnEvent } from '../../instrumentation/events.ts'

/** The fields that v1b has. */
export const V1B_KEYS = [
  'threadId',
  'now',
  'lastStreamAt',
  'silenceMs',
  'openTool',
  'turn',
  'stale',
  'staleSince',
  'thresholdMs',
  'thresholdSource',
  'reason',
]
/** Those that we have besides. */
export const ADDED_KEYS = [
  'state',
  'phase',
  'waiting',
  'lastProgressAt',
  'progressSilenceMs',
  'confirmMs',
  'samples',
  'episode',
  'parentThreadId',
  'messages',
]

const time = z.iso.datetime()

/** Takes any further field, in the nested objects too, as v1b's decoder does. */
export const v1bSchema = z.object({
  threadId: z.string(),
  now: time,
  lastStreamAt: time.nullable(),
  silenceMs: z.number().nullable(),
  openTool: z
    .object({ itemId: z.string(), itemType: z.string(), title: z.string().nullable(), startedAt: time })
    .nullable(),
  turn: z
    .object({
      turnId: z.string().nullable(),
      provider: z.string(),
      model: z.string().nullable(),
      startedAt: time,
      eventCount: z.number(),
    })
    .nullable(),
  stale: z.boolean(),
  staleSince: time.nullable(),
  thresholdMs: z.number(),
  thresholdSource: z.enum(['measured', 'default']),
  reason: z.enum(['silence', 'provider-dead', 'provider-error']).nullable(),
})

export type V1bLiveness = z.infer<typeof v1bSchema>

/** Its clock's fields; the others are its detector's. */
export function clockFields({ threadId, now, lastStreamAt, silenceMs, openTool, turn }: V1bLiveness) {
  return { threadId, now, lastStreamAt, silenceMs, openTool, turn }
}

/** What v1b answers of a thread that has not streamed. */
export function unknownThread(threadId: string, nowMs: number): V1bLiveness {
  return {
    threadId,
    now: iso(nowMs),
    lastStreamAt: null,
    silenceMs: null,
    openTool: null,
    turn: null,
    stale: false,
    staleSince: null,
    thresholdMs: 120_000,
    thresholdSource: 'default',
    reason: null,
  }
}

interface StreamedTurn {
  readonly turnId: string | null
  readonly provider: string
  readonly model: string | null
  readonly startedMs: number
  eventCount: number
  hasToken: boolean
}

interface StreamedThread {
  lastMs: number
  turn: StreamedTurn | null
  readonly tools: Map<string, { itemType: string; title: string | null; startedMs: number }>
}

/** What its detector knows of a thread's turn; one that failed is kept until the next turn starts. */
interface JudgedTurn {
  readonly turn: StreamedTurn
  readonly isOver: boolean
  readonly silentFromMs: number
  readonly hasOpenTool: boolean
  staleSinceMs: number | null
  reason: V1bLiveness['reason']
}

/** A v1b server that is told what happened and when. `native` events are those that count; the others only repeat them. */
export class V1bServer {
  readonly #threads = new Map<string, StreamedThread>()
  readonly #judged = new Map<string, JudgedTurn>()
  readonly #samples = new Map<string, number[]>()

  /** Takes the longest gaps of a healthy turn. */
  learn(provider: string, model: string | null, timeToFirstTokenMs: number, maxGapMs: number): void {
    for (const [hasToken, ms] of [
      [false, timeToFirstTokenMs],
      [true, maxGapMs],
    ] as const) {
      const key = sampleKey({ provider, model, hasToken })
      this.#samples.set(key, [...(this.#samples.get(key) ?? []), ms])
    }
  }

  take(threadId: string, event: TurnEvent, nowMs: number, native: boolean): void {
    const thread: StreamedThread = this.#threads.get(threadId) ?? { lastMs: nowMs, turn: null, tools: new Map() }
    this.#threads.set(threadId, thread)
    const before = thread.turn
    thread.lastMs = nowMs
    if (before !== null && native) before.eventCount++
    stream(thread, event, nowMs)
    this.#judge(threadId, thread, before, event, nowMs)
  }

  /** Its look at every turn, once a second. */
  tick(nowMs: number): void {
    for (const judged of this.#judged.values()) {
      if (judged.isOver || judged.hasOpenTool) continue
      if (nowMs - judged.silentFromMs <= this.#threshold(judged.turn).thresholdMs * 1.25) continue
      judged.staleSinceMs ??= nowMs
      judged.reason = 'silence'
    }
  }

  liveness(threadId: string, nowMs: number): V1bLiveness {
    const thread = this.#threads.get(threadId)
    const judged = this.#judged.get(threadId)
    const unknown = unknownThread(threadId, nowMs)
    if (thread === undefined) return unknown
    const [[itemId, tool] = []] = thread.tools
    return {
      ...unknown,
      lastStreamAt: iso(thread.lastMs),
      silenceMs: nowMs - thread.lastMs,
      openTool:
        itemId === undefined || tool === undefined
          ? null
          : { itemId, itemType: tool.itemType, title: tool.title, startedAt: iso(tool.startedMs) },
      turn: thread.turn && {
        turnId: thread.turn.turnId,
        provider: thread.turn.provider,
        model: thread.turn.model,
        startedAt: iso(thread.turn.startedMs),
        eventCount: thread.turn.eventCount,
      },
      ...(judged && {
        stale: judged.staleSinceMs !== null,
        staleSince: judged.staleSinceMs === null ? null : iso(judged.staleSinceMs),
        reason: judged.reason,
        ...this.#threshold(judged.turn),
      }),
    }
  }

  #judge(
    threadId: string,
    { turn, tools }: StreamedThread,
    before: StreamedTurn | null,
    event: TurnEvent,
    nowMs: number,
  ): void {
    const known = this.#judged.get(threadId)
    if (known?.isOver && known.reason !== null && event.kind !== 'turn.started') return
    const reason = failureOf(event)
    const judged = turn ?? (reason === null ? null : before)
    if (judged === null) {
      this.#judged.delete(threadId)
      return
    }
    this.#judged.set(threadId, {
      turn: judged,
      isOver: event.kind === 'turn.ended' || event.kind === 'exit',
      silentFromMs: nowMs,
      hasOpenTool: tools.size > 0,
      staleSinceMs: reason === null ? null : nowMs,
      reason,
    })
  }

  #threshold(turn: StreamedTurn): Pick<V1bLiveness, 'thresholdMs' | 'thresholdSource'> {
    const samples = this.#samples.get(sampleKey(turn)) ?? []
    const largest = Math.max(0, ...samples)
    if (samples.length >= 20) return { thresholdMs: largest * 1.5, thresholdSource: 'measured' }
    return { thresholdMs: Math.max(turn.hasToken ? 90_000 : 120_000, largest), thresholdSource: 'default' }
  }
}

function stream(thread: StreamedThread, event: TurnEvent, nowMs: number): void {
  const { tools } = thread
  switch (event.kind) {
    case 'turn.started':
      tools.clear()
      thread.turn = {
        turnId: event.turn ?? null,
        provider: event.provider ?? 'unknown',
        model: event.model ?? null,
        startedMs: nowMs,
        eventCount: 0,
        hasToken: false,
      }
      return
    case 'turn.ended':
      tools.clear()
      thread.turn = null
      return
    case 'token':
      if (thread.turn !== null) thread.turn.hasToken = true
      return
    case 'tool.started':
      tools.set(event.id, { itemType: event.name ?? 'tool', title: event.title ?? null, startedMs: nowMs })
      return
    case 'tool.ended':
      tools.delete(event.id)
      return
    default:
      return
  }
}

function failureOf(event: TurnEvent): V1bLiveness['reason'] {
  if (event.kind === 'exit') return 'provider-dead'
  return event.kind === 'error' || (event.kind === 'turn.ended' && event.outcome === 'error') ? 'provider-error' : null
}

function sampleKey({ provider, model, hasToken }: Pick<StreamedTurn, 'provider' | 'model' | 'hasToken'>): string {
  return JSON.stringify([provider, model, hasToken])
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}
