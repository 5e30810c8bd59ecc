/** The answer of the Prism route, for servers that have a router and tokens of their own. Errors in the contract's order. */

import type { PrismLiveness } from './prism.ts'

export const READ_SCOPE = 'orchestration:read'

export interface LivenessResponse {
  readonly status: 200 | 400 | 401 | 403 | 503
  readonly body: PrismLiveness | { readonly error: string }
}

/**
 * `scopes` are those of the caller's session, null without one. `ask` is null where nothing is watched, and may throw,
 * which is the watch's clock failing.
 */
export function livenessResponse(
  ask: ((threadId: string) => PrismLiveness) | null,
  threadId: string | null | undefined,
  scopes: readonly string[] | null,
): LivenessResponse {
  if (scopes === null) return { status: 401, body: { error: 'unauthorized' } }
  if (!scopes.includes(READ_SCOPE)) return { status: 403, body: { error: `scope ${READ_SCOPE} required` } }
  const id = threadId?.trim() ?? ''
  if (id === '') return { status: 400, body: { error: 'threadId required' } }
  if (ask === null) return { status: 503, body: { error: 'stream clock unavailable' } }
  try {
    return { status: 200, body: ask(id) }
  } catch {
    return { status: 503, body: { error: 'stream clock unavailable' } }
  }
}
