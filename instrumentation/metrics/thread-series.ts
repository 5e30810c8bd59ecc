/** The series of running threads: at most so many, the riskiest first, each with labels of its own. */

import { risk } from '../risk.ts'
import type { Turn } from '../turn.ts'
import type { TurnClock } from '../turn-clock.ts'
import type { Families } from './families.ts'
import { LabelBook } from './label-book.ts'
import { MAX_THREADS } from './label-values.ts'
import type { PerThreadSeries } from './measured.ts'
import type { RunningTurn } from './running-turns.ts'

/** The labels that ids of running threads and turns have. */
export class ThreadLabels {
  readonly #threads = new LabelBook()
  readonly #turns = new LabelBook()
  readonly #sets = new WeakMap<Turn, LabelSets>()

  /** The label sets of turns that are shown, by what runs. */
  of(shown: readonly RunningTurn[], running: readonly RunningTurn[]): LabelSets[] {
    const threads = lookup(running, ({ turn }) => [turn.threadId, turn.parentThreadId])
    const turns = lookup(running, ({ turn }) => [turn.turnId])
    this.#threads.keep(threads)
    this.#turns.keep(turns)
    return shown.map(({ turn, labels, state }) => {
      const thread = this.#threads.label(turn.threadId, threads)
      const id = this.#turns.label(turn.turnId, turns)
      const parent = turn.parentThreadId === null ? '' : this.#threads.label(turn.parentThreadId, threads)
      const info = { thread, turn: id, parent, ...labels.own }
      const known = this.#sets.get(turn)
      if (known && known.state.state === state && isSame(known.info, info)) return known
      const sets = { thread: { thread }, state: { thread, state }, info }
      this.#sets.set(turn, sets)
      return sets
    })
  }
}

type Info = Readonly<Record<'thread' | 'turn' | 'parent' | 'provider' | 'model', string>>

/** The same objects at every scrape while nothing changes, see `model-labels.ts`. */
interface LabelSets {
  readonly thread: { readonly thread: string }
  readonly state: { readonly thread: string; readonly state: string }
  readonly info: Info
}

function isSame(a: Info, b: Info): boolean {
  return (
    a.thread === b.thread &&
    a.turn === b.turn &&
    a.parent === b.parent &&
    a.provider === b.provider &&
    a.model === b.model
  )
}

/** Whether a running turn has an id; the ids are gathered only if somebody asks. */
function lookup(running: readonly RunningTurn[], ids: (one: RunningTurn) => (string | null)[]) {
  let all: Set<string | null> | undefined
  return (id: string) => {
    all ??= new Set(running.flatMap(ids))
    return all.has(id)
  }
}

export function collectThreads(
  turns: TurnClock,
  families: Families,
  running: readonly RunningTurn[],
  mode: PerThreadSeries,
  labels: ThreadLabels,
): void {
  const wanted = mode === 'off' ? [] : mode === 'stale' ? running.filter(({ state }) => state === 'stale') : running
  const shown = wanted.length > MAX_THREADS ? riskiest(wanted) : wanted
  families.add('thread_series_omitted', wanted.length - shown.length)
  const sets = labels.of(shown, running)
  shown.forEach(({ turn, state, silenceMs, thresholdMs }, i) => {
    const of = sets[i] as LabelSets
    const { lastProgressElapsedMs, startedWallMs } = turns.read(turn)
    const lastProgressWallMs = lastProgressElapsedMs === null ? startedWallMs : turns.time.wallAt(lastProgressElapsedMs)
    families.add('thread_silence_seconds', silenceMs / 1000, of.thread)
    families.add('thread_silence_threshold_seconds', thresholdMs / 1000, of.thread)
    families.add('thread_last_progress_timestamp_seconds', lastProgressWallMs / 1000, of.thread)
    families.add('thread_stale', state === 'stale' ? 1 : 0, of.thread)
    families.add('thread_state', 1, of.state)
    families.add('thread_info', 1, of.info)
  })
}

function riskiest(running: readonly RunningTurn[]): RunningTurn[] {
  const ranked = running.map((one) => ({ one, risk: risk(one.state, one.silenceMs, one.thresholdMs) }))
  ranked.sort((a, b) => b.risk - a.risk)
  return ranked.slice(0, MAX_THREADS).map(({ one }) => one)
}
