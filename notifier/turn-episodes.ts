/** The last stale episode of each turn, also of before this process: a restored turn goes on with its own keys. */

import { dropOldest } from '../instrumentation/drop-oldest.ts'
import type { OutboxStore, StoredEpisode } from './outbox-store.ts'

const MAX_TURNS = 20_000

export interface EarlierEpisode {
  readonly episode: number
  /** Epoch ms. */
  readonly openedAt: number
  /** Whether nothing has closed it yet. */
  readonly open: boolean
  /** Whether a message of the turn was made, and not taken back. */
  readonly told: boolean
  /** Whether the turn has been seen in this process. */
  readonly seen: boolean
}

export class TurnEpisodes {
  readonly #turns = new Map<string, EarlierEpisode>()

  /** Reads what a store knows since an epoch ms. */
  constructor(store: OutboxStore | null, since: number, failed: (error: unknown) => void) {
    if (store === null) return
    try {
      const found = store.episodes(since)
      if (found instanceof Promise) found.then((episodes) => this.#load(episodes)).catch(failed)
      else this.#load(found)
    } catch (error) {
      failed(error)
    }
  }

  get(threadId: string, turnId: string): EarlierEpisode | undefined {
    return this.#turns.get(keyOf(threadId, turnId))
  }

  /** Takes over what changed; an episode older than the last is none of ours any more. */
  set(threadId: string, turnId: string, episode: number, change: Partial<Omit<EarlierEpisode, 'episode'>>): void {
    const key = keyOf(threadId, turnId)
    const last = this.#turns.get(key)
    if (last && last.episode > episode) return
    this.#turns.delete(key)
    this.#turns.set(key, { openedAt: 0, open: true, told: false, seen: false, ...last, episode, ...change })
    dropOldest(this.#turns, MAX_TURNS)
  }

  /** What this process has learned since is newer. */
  #load(episodes: readonly StoredEpisode[]): void {
    for (const { thread, turn, episode, openedAt, closedAt, told = true } of episodes) {
      if ((this.get(thread, turn)?.episode ?? 0) < episode)
        this.set(thread, turn, episode, { openedAt, open: closedAt === null, told })
    }
  }
}

function keyOf(threadId: string, turnId: string): string {
  return `${threadId}\u0000${turnId}`
}
