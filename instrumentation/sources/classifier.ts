/** Classes of raw provider events: a table per wire, whose first matching rule wins. Stateless. */

import type { Outcome } from '../events.ts'

export type WireClass =
  | 'content'
  | 'tool-start'
  | 'tool-end'
  | 'wait-start'
  | 'wait-end'
  | 'neutral'
  | 'turn-start'
  | 'terminal-ok'
  | 'terminal-error'

/** A test of one value in the event. Paths: dots, `[]` = each element. */
type Condition = { readonly path: string } & (
  | { readonly equals: unknown }
  | { readonly in: readonly unknown[] }
  | { readonly anyIn: readonly unknown[] }
  | { readonly nonEmpty: true }
  | { readonly exists: true }
  | { readonly gt: number }
  | { readonly matches: string }
)

interface Classification {
  readonly class: WireClass
  readonly kind?: string
  /** Path of the id that pairs starts with ends; `=x` is the constant x. */
  readonly id?: string
  readonly outcome?: Outcome
  /** A sign of a living process, never of a living turn. */
  readonly heartbeat?: true
  /** Path of an announced back-off in ms. */
  readonly holdMs?: string
  /** Path of the epoch ms at which an announced back-off ends. */
  readonly holdUntil?: string
}

interface Rule extends Partial<Classification> {
  readonly when: Condition
  readonly class: WireClass
}

interface EventType extends Classification {
  readonly rules?: readonly Rule[]
}

export type EventTable = Readonly<Record<string, EventType>>

/** An event's key in its table and what it is; `key` is null for a type that the table does not have. */
export interface Classified extends Classification {
  readonly key: string | null
}

export type Raw = Readonly<Record<string, unknown>>

export const isRaw = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const UNKNOWN_TYPE: Classified = { key: null, class: 'neutral' }

/**
 * Classifies events of one wire. `keys` are templates of the keys to look up, the most specific first, as in
 * `{type}/{event.type}`; the first whose paths all lead to text, and which the table has, is the event's key.
 */
export class Classifier {
  readonly #types = new Map<string, { plain: Classified; rules: readonly CompiledRule[] }>()
  readonly #templates: readonly ((raw: Raw) => string | null)[]

  constructor(table: EventTable, keys: readonly string[]) {
    this.#templates = keys.map(template)
    for (const [key, { rules = [], ...plain }] of Object.entries(table)) {
      this.#types.set(key, {
        plain: { key, ...plain },
        rules: rules.map(({ when, ...changes }) => ({ holds: condition(when), is: { key, ...plain, ...changes } })),
      })
    }
  }

  classify(raw: Raw): Classified {
    for (const keyOf of this.#templates) {
      const key = keyOf(raw)
      const type = key === null ? undefined : this.#types.get(key)
      if (type === undefined) continue
      for (const rule of type.rules) if (rule.holds(raw)) return rule.is
      return type.plain
    }
    return UNKNOWN_TYPE
  }
}

/** The key that a template gives an event; null where one of its paths leads to no text. */
function template(keys: string): (raw: Raw) => string | null {
  // Literal text at even places, paths at odd ones.
  const parts = keys.split(/\{([^}]+)\}/)
  const readers = parts.map((part, at) => (at % 2 === 1 ? reader(part) : null))
  return (raw) => {
    let key = ''
    for (const [at, read] of readers.entries()) {
      const part = read === null ? parts[at] : read(raw)
      if (typeof part !== 'string' || (read !== null && part === '')) return null
      key += part
    }
    return key
  }
}

interface CompiledRule {
  readonly holds: (raw: Raw) => boolean
  readonly is: Classified
}

function condition(when: Condition): (raw: Raw) => boolean {
  const read = reader(when.path)
  if ('equals' in when) return (raw) => read(raw) === when.equals
  if ('in' in when) return (raw) => when.in.includes(read(raw))
  if ('anyIn' in when) {
    return (raw) => {
      const found = read(raw)
      return Array.isArray(found) && found.some((value) => when.anyIn.includes(value))
    }
  }
  if ('nonEmpty' in when) return (raw) => isNonEmpty(read(raw))
  if ('exists' in when) return (raw) => read(raw) != null
  if ('gt' in when) {
    return (raw) => {
      const value = read(raw)
      return typeof value === 'number' && value > when.gt
    }
  }
  const pattern = new RegExp(when.matches)
  return (raw) => {
    const value = read(raw)
    return typeof value === 'string' && pattern.test(value)
  }
}

export function isNonEmpty(value: unknown): boolean {
  if (typeof value === 'string' || Array.isArray(value)) return value.length > 0
  if (isRaw(value)) return Object.keys(value).length > 0
  return typeof value === 'number' || value === true
}

/** The function that reads each path; paths come from the tables only. */
const readers = new Map<string, (raw: unknown) => unknown>()

/** The function that reads a path; what is not there is undefined, a path with `[]` gives an array. */
export function reader(path: string): (raw: unknown) => unknown {
  let read = readers.get(path)
  if (read === undefined) {
    const steps = path.split('.')
    read = (raw) => readSteps(raw, steps, 0)
    readers.set(path, read)
  }
  return read
}

function readSteps(value: unknown, steps: readonly string[], at: number): unknown {
  const step = steps[at]
  if (step === undefined) return value
  if (!isRaw(value)) return undefined
  if (!step.endsWith('[]')) return readSteps(ownValue(value, step), steps, at + 1)
  const list = ownValue(value, step.slice(0, -2))
  return Array.isArray(list) ? list.map((element) => readSteps(element, steps, at + 1)) : undefined
}

function ownValue(value: Raw, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

/** The ids that a classified event names, in its order. */
export function idsOf(raw: Raw, path: string | undefined): string[] {
  if (path === undefined) return []
  if (path.startsWith('=')) return [path.slice(1)]
  const found = reader(path)(raw)
  return (Array.isArray(found) ? found : [found])
    .filter((id) => typeof id === 'string' || typeof id === 'number')
    .map(String)
}

export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
/** A count of tokens; 0 for anything that is none, as what a gateway has corrected may be negative. */
export const tokensOf = (value: unknown): number =>
  typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : 0

/** An entry of a table of ours by a name from the wire, which may be the name of something that every object has. */
export function entry<T>(table: Readonly<Record<string, T>>, name: unknown): T | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined
}
