/** What becomes of a stream that is read under a deadline, in words. */

import { setTimeout as delay } from 'node:timers/promises'
import { StreamStalledError } from '../../detector/watchdog/index.ts'

/** Deadlines without anything new after which a stream is said to hang. */
const HANGS_AFTER = 5
/** How much later than it should be a timer may be, in deadlines, before the run counts for nothing. */
const MAX_LAG = 0.25
const MAX_RUNS = 5

/** What one thing that was read says. */
export interface Said {
  readonly pieces?: number
  readonly isEnd?: boolean
  readonly error?: unknown
}

export interface Reading {
  /** The deadline that all is measured by, in ms. */
  readonly deadlineMs: number
  /** Pieces of content that a whole answer has. */
  readonly pieces: number
  open(): AsyncIterable<Said> | Promise<AsyncIterable<Said>>
  /** The consumer's own work for each piece. */
  readonly holdMs?: ((piece: number) => number) | undefined
  /** From where time is told: the last piece, unless it is said otherwise. */
  readonly since?: 'piece' | 'start' | undefined
}

export interface Outcome {
  /** `completes`, `hangs`, or what it ended by and when. */
  readonly says: string
  readonly pieces: number
  /** Whole deadlines from the last piece, or from the start, to the end. */
  readonly deadlines: number
  readonly error: unknown
  /** Whether the error was thrown by a read, and not said by what was read. */
  readonly isThrown: boolean
}

export async function outcomeOf({ deadlineMs, open, holdMs, ...rest }: Reading): Promise<Outcome> {
  const start = performance.now()
  let since = start
  let pieces = 0
  let hasEnded = false
  let error: unknown
  let isThrown = false
  const reading = async () => {
    try {
      for await (const said of await open()) {
        if (said.error !== undefined) error = said.error
        if (said.isEnd) hasEnded = true
        if (!said.pieces) continue
        pieces += said.pieces
        if (rest.since !== 'start') since = performance.now()
        const ms = holdMs?.(pieces) ?? 0
        if (ms > 0) await delay(ms)
      }
    } catch (thrown) {
      error = thrown
      isThrown = true
    }
    return true
  }
  const isOver = await Promise.race([reading(), hung(() => performance.now() - since > HANGS_AFTER * deadlineMs)])
  const deadlines = Math.floor((performance.now() - since) / deadlineMs + MAX_LAG)
  const ended = { pieces, deadlines, error, isThrown }
  if (!isOver) return { says: 'hangs', ...ended }
  if (error !== undefined) return { says: named(error, when(deadlines)), ...ended }
  if (hasEnded && pieces === rest.pieces) return { says: 'completes', ...ended }
  return { says: `ends after ${pieces} of ${rest.pieces} pieces`, ...ended }
}

async function hung(isHanging: () => boolean): Promise<false> {
  while (!isHanging()) await delay(20)
  return false
}

const when = (deadlines: number) => (deadlines === 0 ? ' at once' : ` at ${deadlines}x`)

/** An error as short as it can be told from others, and when it came. */
export function named(error: unknown, at = ''): string {
  if (error instanceof StreamStalledError) {
    return `stall \`${error.phase}\`${at}${error.retryable ? ', retryable' : ''}`
  }
  const { name, message } = error as Error
  return `${name} "${labelOf(message)}"${at}`
}

/** Of a message, what names no number of ms and has no quotes. */
function labelOf(message: string): string {
  return message.replace(/ timeout of .*| due to timeout$|(?<=out of range)\..*/, '').replaceAll('"', "'")
}

/**
 * Runs it again while timers are held up: in such a run a deadline says nothing. The last of several runs counts as it is.
 */
export async function undisturbed<T>(deadlineMs: number, run: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs++) {
    let [last, lag] = [performance.now(), 0]
    const look = () => {
      const now = performance.now()
      lag = Math.max(lag, now - last - 10)
      last = now
    }
    const timer = setInterval(look, 10)
    const result = await run()
    look()
    clearInterval(timer)
    if (lag < MAX_LAG * deadlineMs || runs === MAX_RUNS) return result
  }
}
