/** Streams with one value gone wrong: whatever comes, a source says only TurnEvents and never fails. */

import { turnEventFault } from '../../instrumentation/events.ts'
import { createSource, type SourceName, type SourceOptions } from '../../instrumentation/sources/index.ts'

const ODD = [
  undefined,
  null,
  0,
  -1.5,
  true,
  '',
  'constructor',
  '__proto__',
  [],
  [null],
  {},
  { constructor: 5 },
] as const

/** Each copy of a value in which one value, at any depth, is another. */
function* mangled(value: unknown): Generator<unknown> {
  yield* ODD
  if (typeof value !== 'object' || value === null) return
  for (const [key, inside] of Object.entries(value)) {
    for (const odd of mangled(inside)) {
      yield Array.isArray(value)
        ? value.map((element, at) => (String(at) === key ? odd : element))
        : { ...value, [key]: odd }
    }
  }
}

/** What goes wrong when any one value of a stream does: failures of the source, and events that are none. */
export function faultsOfMangled(name: SourceName, raws: readonly unknown[], options: SourceOptions = {}): unknown[] {
  const faults: unknown[] = []
  for (const [at, raw] of raws.entries()) {
    for (const odd of mangled(raw)) {
      const source = createSource(name, { ...options, onUnreadable: (_, error) => faults.push({ odd, error }) })
      for (const one of raws.with(at, odd)) {
        source.read(one, (thread, event) => {
          const fault = typeof thread === 'string' ? turnEventFault(event) : `thread is ${String(thread)}`
          if (fault !== null) faults.push({ odd, event, fault })
        })
      }
    }
  }
  return faults
}
