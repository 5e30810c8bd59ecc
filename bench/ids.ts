/** Ids as a host has them. */

import { randomUUID } from 'node:crypto'

/** A UUID as it comes out of `JSON.parse`: one flat string. `randomUUID` itself gives a tree of 20 pieces, 500 bytes. */
export function flatId(): string {
  return JSON.parse(`"${randomUUID()}"`) as string
}
