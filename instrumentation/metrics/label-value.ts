/** Label values come from hosts and wires: cleaned and cut before they reach any exposition. */

import { createHash } from 'node:crypto'

const MAX_LENGTH = 200

/** Valid UTF-8 without control characters, at most 200 characters; what is cut ends with `~` and 8 digits of a hash. */
export function labelValue(value: string): string {
  const plain = cleaned(value)
  return plain.length <= MAX_LENGTH ? plain : hashed(plain, value, 0)
}

/**
 * The same for a value whose label another value has already: it ends with a hash of its own. `round` rises until the
 * label is free.
 */
export function distinctLabelValue(value: string, round = 0): string {
  return hashed(cleaned(value), value, round)
}

function cleaned(value: string): string {
  // Most values are clean: looking is cheaper than replacing.
  if (/^[\x20-\x7e]*$/.test(value)) return value
  return value.toWellFormed().replace(/\p{Cc}/gu, '')
}

function hashed(plain: string, value: string, round: number): string {
  // UTF-8 has no lone surrogates and would take two of them for the same.
  const encoding = value.isWellFormed() ? 'utf8' : 'utf16le'
  const hash = createHash('sha256').update('\n'.repeat(round)).update(value, encoding).digest('hex')
  return `${plain.slice(0, MAX_LENGTH - 9).toWellFormed()}~${hash.slice(0, 8)}`
}
