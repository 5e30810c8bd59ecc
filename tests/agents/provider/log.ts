/** What the provider did and when, on the clock of this process. */

export type Did =
  | 'asked'
  | 'say'
  | 'think'
  | 'call'
  | 'argue'
  | 'keep-alive'
  | 'pause'
  | 'refuse'
  | 'cut'
  | 'end'
  /** The agent closed the connection before the answer was over. */
  | 'left'
  /** A request that is none for the model, such as a look at its list. */
  | 'other'

export interface Entry {
  /** Monotonic ms. */
  readonly at: number
  /** The model call, from 0; -1 of what belongs to none. */
  readonly call: number
  readonly did: Did
  /** Method and address of a request; empty otherwise. */
  readonly of: string
}

const OUTPUT: readonly Did[] = ['say', 'think', 'call', 'argue']

export class ProviderLog {
  readonly entries: Entry[] = []
  readonly #waiting = new Set<() => void>()
  readonly #hears: (entry: Entry) => void

  constructor(hears: (entry: Entry) => void = () => {}) {
    this.#hears = hears
  }

  add(did: Did, call: number, of = ''): void {
    const entry = { at: performance.now(), call, did, of }
    this.entries.push(entry)
    this.#hears(entry)
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }

  /** Everything of these kinds, in order. */
  all(...kinds: readonly Did[]): Entry[] {
    return this.entries.filter(({ did }) => kinds.includes(did))
  }

  /** What the model put out. */
  output(): Entry[] {
    return this.all(...OUTPUT)
  }

  /** The longest ms between any two outputs of one answer. */
  longestGapMs(): number {
    const gaps = this.output().map(({ at, call }, i, all) =>
      call === all[i - 1]?.call ? at - (all[i - 1]?.at ?? at) : 0,
    )
    return Math.max(0, ...gaps)
  }

  /** Until it has done this for the nth time. */
  async until(did: Did, times = 1): Promise<Entry> {
    for (;;) {
      const found = this.all(did)[times - 1]
      if (found) return found
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve)
      })
    }
  }
}
