/** What a hook of a host, or a source, may do that nobody expects; and the rejections that nobody may be left with. */

import { afterEach, beforeEach, expect } from 'vitest'
import { settle } from './virtual-clock.ts'

export const faults: readonly (readonly [string, () => unknown])[] = [
  [
    'throws',
    () => {
      throw new Error('hook')
    },
  ],
  [
    'throws null',
    () => {
      throw null
    },
  ],
  ['returns a promise that rejects', () => Promise.reject(new Error('hook'))],
  ['returns a promise that never settles', () => new Promise(() => {})],
  [
    'returns what has a getter that throws',
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: that is the fault
      get then(): never {
        throw new Error('then')
      },
    }),
  ],
]

/** Fails the tests of a file that leave a rejection to nobody, which would end the process of a host. */
export function allowNoUnhandledRejections(): void {
  let found: unknown[] = []
  const note = (reason: unknown) => found.push(reason)
  beforeEach(() => {
    found = []
    process.on('unhandledRejection', note)
  })
  afterEach(async () => {
    await settle()
    process.off('unhandledRejection', note)
    expect(found).toEqual([])
  })
}
