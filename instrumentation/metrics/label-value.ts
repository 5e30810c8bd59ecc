/** Label values come from hosts and wires: cleaned and cut before they reach any exposition. */

import { createHash } from 'node:crypto'

const MAX_LENGTH = 200

/** Valid UTF-8 without control characters, at most 200 characters; what is cut ends with `~` and 8 digits of a hash. */
export function labelValue(value: string): string {
  const plain = cleaned(value)
  return plain.length <= MAX_LENGTH ? plain : hashed(plain, value)
}

/** The same for a value that another, when cleaned, equals: it always ends with its hash. */
export function distinctLabelValue(value: string): string {
  return hashed(cleaned(value), value)
}

function cleaned(value: string): string {
  return value.toWellFormed().replace(/\p{Cc}/gu, '')
}

function hashed(plain: string, value: string): string {
  const hash = createHash('sha256').update(value).digest('hex').slice(0, 8)
  return `${plain.slice(0, MAX_LENGTH - 9).toWellFormed()}~${hash}`
}
