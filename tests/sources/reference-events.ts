/** An event of every type in the reference table, and of every rule in it. */

import { readFileSync } from 'node:fs'

type Condition = { path: string } & Record<string, unknown>
/** How a key is told where events have no type: by a field, or by the text of a line that is no JSON. */
type Match = { raw: string } | { rawPrefix: string } | { otherwise: true } | Condition

interface EventType {
  readonly class: string
  /** What it is where content alone counts, for types that are tools otherwise. */
  readonly dev723?: string
  readonly heartbeat?: true
  readonly match?: Match
  readonly rules?: readonly { readonly when: Condition; readonly class: string }[]
}

export interface Sample {
  readonly name: string
  /** Its key in the table. */
  readonly key: string
  readonly event: Record<string, unknown> | string
  /** Of the type, or of the rule that the event follows. */
  readonly class: string
  readonly type: EventType
}

interface Wire {
  readonly keys: readonly string[]
  readonly events: Record<string, EventType>
}

export const reference: Record<string, Wire> = JSON.parse(
  readFileSync(new URL('../data/event-classes.json', import.meta.url), 'utf8'),
)

export function samplesOf(source: string): Sample[] {
  const wire = reference[source] as Wire
  return Object.entries(wire.events).flatMap(([key, type]) => [
    { name: key, key, event: eventOf(wire, key), class: type.class, type },
    ...(type.rules ?? []).flatMap((rule) => {
      const { path } = rule.when
      return satisfying(rule.when).map((value) => {
        const event = eventOf(wire, key) as Record<string, unknown>
        put(event, path, value)
        return { name: `${key}, ${path} = ${JSON.stringify(value)}`, key, event, class: rule.class, type }
      })
    }),
  ])
}

/** Sets a value at a path with dots, `[]` = one element. */
function put(raw: Record<string, unknown>, path: string, value: unknown): void {
  const [step = '', ...rest] = path.split('.')
  const name = step.replace('[]', '')
  if (rest.length === 0) {
    raw[name] = value
    return
  }
  raw[name] ??= step.endsWith('[]') ? [{}] : {}
  const inside = step.endsWith('[]') ? (raw[name] as unknown[])[0] : raw[name]
  put(inside as Record<string, unknown>, rest.join('.'), value)
}

/** Templates that spell a key of two or more parts only for keys that begin so. */
const OWN: Record<string, string> = {
  stream_event: '{event.type}',
  control_request: '{request.subtype}',
  control_response: '{response.subtype}',
  content_block_start: '{content_block.type}',
  content_block_delta: '{delta.type}',
  'content.delta': '{payload.streamKind}',
}

function spells(template: string, parts: readonly string[]): boolean {
  if (parts.length === 1) return true
  if (parts.includes('content_block_start') && template.includes('delta')) return false
  const own = OWN[parts[0] ?? '']
  return own === undefined ? Object.values(OWN).every((other) => !template.includes(other)) : template.includes(own)
}

/** An event of the type that a key names, by the first template that can spell it. */
function eventOf({ keys, events }: Wire, key: string): Record<string, unknown> | string {
  const match = events[key]?.match
  if (match !== undefined) return matching(match)
  for (const template of keys) {
    const paths = [...template.matchAll(/\{([^}]+)\}/g)].map((found) => found[1] as string)
    const parts = paths.length === 1 ? [key] : key.split(template.includes(':') ? ':' : '/')
    if (paths.length !== parts.length || !spells(template, parts)) continue
    const raw: Record<string, unknown> = {}
    for (const [i, path] of paths.entries()) put(raw, path, parts[i])
    return raw
  }
  throw new Error(`no template spells ${key}`)
}

function matching(match: Match): Record<string, unknown> | string {
  if ('raw' in match) return String(match.raw)
  if ('rawPrefix' in match) return `${match.rawPrefix} processing`
  const raw: Record<string, unknown> = {}
  if (!('otherwise' in match)) put(raw, match.path, satisfying(match as Condition)[0])
  return raw
}

/** Values that a condition holds for. */
function satisfying(when: Condition): unknown[] {
  if ('equals' in when) return [when.equals]
  if ('in' in when) return when.in as unknown[]
  if ('anyIn' in when) return when.anyIn as unknown[]
  if ('nonEmpty' in when) return ['x', ['x']]
  if ('exists' in when) return ['x', 0]
  if ('gt' in when) return [(when.gt as number) + 1]
  return [String(when.matches).replace('^', '').concat('... 1/5')]
}
