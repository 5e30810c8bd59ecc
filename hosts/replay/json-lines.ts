/** Line numbers in JSON text, for messages that point at the fault. */

/** The line, from 1, at which JSON.parse failed. */
export function jsonLineAt(source: string, error: unknown): number {
  const message = error instanceof Error ? error.message : ''
  const line = /\(line (\d+)/.exec(message)
  if (line) return Number(line[1])
  const position = /position (\d+)/.exec(message)
  const at = position ? Number(position[1]) : source.trimEnd().length
  return lineAt(source, at)
}

/** The line, from 1, of the value at a path of names and indexes in valid JSON. */
export function lineOfElement(source: string, path: readonly PropertyKey[]): number {
  let at = skipSpace(source, 0)
  for (const step of path) {
    const inside = typeof step === 'number' ? elementAt(source, at, step) : memberAt(source, at, String(step))
    if (inside === undefined) break
    at = inside
  }
  return lineAt(source, at)
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length
}

function elementAt(source: string, start: number, index: number): number | undefined {
  if (source[start] !== '[') return undefined
  let at = skipSpace(source, start + 1)
  for (let i = 0; i < index; i++) {
    at = skipSpace(source, skipValue(source, at))
    if (source[at] !== ',') return undefined
    at = skipSpace(source, at + 1)
  }
  return source[at] === ']' ? undefined : at
}

function memberAt(source: string, start: number, name: string): number | undefined {
  if (source[start] !== '{') return undefined
  let at = skipSpace(source, start + 1)
  while (source[at] === '"') {
    const end = skipValue(source, at)
    const key: unknown = JSON.parse(source.slice(at, end))
    at = skipSpace(source, skipSpace(source, end) + 1)
    if (key === name) return at
    at = skipSpace(source, skipValue(source, at))
    if (source[at] !== ',') return undefined
    at = skipSpace(source, at + 1)
  }
  return undefined
}

function skipSpace(source: string, from: number): number {
  let at = from
  while (' \t\r\n'.includes(source[at] ?? 'x')) at++
  return at
}

/** The offset behind the value that starts at `from`. */
function skipValue(source: string, from: number): number {
  let depth = 0
  for (let at = from; at < source.length; at++) {
    const char = source[at]
    if (char === '"') {
      for (at++; at < source.length && source[at] !== '"'; at++) if (source[at] === '\\') at++
      if (depth === 0) return at + 1
    } else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && ',: \t\r\n'.includes(char ?? '')) return at
  }
  return source.length
}
