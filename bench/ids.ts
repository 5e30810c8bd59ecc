/** Ids as a host has them. */

import { randomUUID } from 'node:crypto'

/** A UUID as it comes out of `JSON.parse`: one flat string. `randomUUID` itself gives a tree of 20 pieces, 500 bytes. */
export function flatId(): string {
  return JSON.parse(`"${randomUUID()}"`) as string
}

/** Who the i-th of many turns is: 8 providers, 50 models. */
export function identity(i: number) {
  return { threadId: flatId(), turnId: flatId(), provider: `provider-${i % 8}`, model: `model-${i % 50}` }
}
