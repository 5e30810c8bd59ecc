/**
 * Labels given out to values that come and go: two values never have the same one at a time, and a value keeps its own
 * for as long as it is there, because a label that changes between two scrapes is a broken series.
 */

import { distinctLabelValue, labelValue } from './label-value.ts'

export class LabelBook {
  /** Labels of the values that are there and whose label is not simply the value itself: nearly none. */
  readonly #labels = new Map<string, string>()
  /** The values that have those labels. */
  readonly #holders = new Map<string, string>()

  /** The label of a value. `isThere` tells whether another value is there, which may have itself for its label. */
  label(value: string, isThere: (value: string) => boolean): string {
    const known = this.#labels.get(value)
    if (known !== undefined) return known
    let label = labelValue(value)
    for (let round = 0; this.#isTaken(label, value, isThere); round++) label = distinctLabelValue(value, round)
    if (label !== value) {
      this.#labels.set(value, label)
      this.#holders.set(label, value)
    }
    return label
  }

  /** Forgets the values that are gone. */
  keep(isThere: (value: string) => boolean): void {
    for (const [value, label] of this.#labels) {
      if (isThere(value)) continue
      this.#labels.delete(value)
      this.#holders.delete(label)
    }
  }

  #isTaken(label: string, value: string, isThere: (value: string) => boolean): boolean {
    if (this.#holders.has(label)) return true
    // A value that is its own label, unless the book has another for it.
    return label !== value && isThere(label) && !this.#labels.has(label)
  }
}

/** The labels of values that never go, in the order in which they came: the first to have one keeps it. */
export function distinctLabels(values: readonly string[]): string[] {
  const taken = new Set<string>()
  return values.map((value) => {
    let label = labelValue(value)
    for (let round = 0; taken.has(label); round++) label = distinctLabelValue(value, round)
    taken.add(label)
    return label
  })
}
