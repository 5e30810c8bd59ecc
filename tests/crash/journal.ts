/** What a host did, in its own order, written before it could be killed for it: the truth that its store is held against. */

import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { StaleReason } from '../../instrumentation/turn-counters.ts'

export interface TurnIds {
  readonly threadId: string
  readonly turnId: string
}

/** What an event means for an episode: the turn goes on, its provider fails, or it ends. */
export type Meaning = 'goes on' | 'fails' | 'ends'

export type Entry =
  | { readonly did: 'start' | 'restore'; readonly turn: TurnIds }
  /** Before and after the watch is given an event. */
  | { readonly did: 'feed' | 'fed'; readonly turn: TurnIds; readonly meaning: Meaning }
  /** The watch is about to open an episode, and asks whether somebody else tells of it. */
  | { readonly did: 'judge'; readonly turn: TurnIds }
  /** The watch has said `stale`. */
  | { readonly did: 'hear'; readonly turn: TurnIds; readonly episode: number; readonly reason: StaleReason }
  /** A channel has heard of its receiver that these arrived. */
  | { readonly did: 'send'; readonly channel: string; readonly keys: readonly string[] }
  /** Whatever the watch put off to the next turn of the event loop has had its turn. */
  | { readonly did: 'step' }
  /** The host has got to where it kills itself. */
  | { readonly did: 'die'; readonly at: string }

export class FileJournal {
  readonly #fd: number

  constructor(file: string) {
    this.#fd = openSync(file, 'a')
  }

  write = (entry: Entry): void => {
    writeSync(this.#fd, `${JSON.stringify(entry)}\n`)
  }

  close(): void {
    closeSync(this.#fd)
  }
}

export function readJournal(file: string): Entry[] {
  if (!existsSync(file)) return []
  // What follows the last line end was cut off by the kill.
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Entry)
}
