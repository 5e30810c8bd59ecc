/**
 * What T3's adapters say of their provider in events that are neutral by their type: that it compacts its context, or
 * that it tries a model call again. How they say it is not in T3's contracts, so it is read by adapter.
 */

import { isRaw, type Raw, text } from './classifier.ts'

export type ProviderState =
  | { readonly is: 'compacting' }
  | { readonly is: 'compacted' }
  /** `until` is the epoch ms of an announced back-off. */
  | { readonly is: 'retrying'; readonly until: number | undefined }

const COMPACTING: ProviderState = Object.freeze({ is: 'compacting' })
const COMPACTED: ProviderState = Object.freeze({ is: 'compacted' })
const RETRYING: ProviderState = Object.freeze({ is: 'retrying', until: undefined })

/** What a neutral event says of its provider; undefined where it says nothing of it. */
export function providerState(type: string, payload: Raw): ProviderState | undefined {
  const detail = isRaw(payload.detail) ? payload.detail : {}
  switch (type) {
    case 'session.state.changed':
      return claudeState(text(payload.reason) ?? '', detail)
    case 'thread.state.changed':
      return payload.state === 'compacted' ? COMPACTED : undefined
    case 'runtime.warning':
      return warned(detail)
    case 'runtime.error':
      return RETRYING
    default:
      return undefined
  }
}

function claudeState(reason: string, detail: Raw): ProviderState | undefined {
  if (reason === 'status:compacting') return COMPACTING
  if (reason === 'status:active' || detail.compact_result != null) return COMPACTED
  return reason.startsWith('api_retry') ? RETRYING : undefined
}

/** OpenCode's status, with the time of its next try, or Codex' error that it tries again after. */
function warned({ type, next, willRetry }: Raw): ProviderState | undefined {
  if (type === 'retry') return typeof next === 'number' ? { is: 'retrying', until: next } : RETRYING
  return willRetry === true ? RETRYING : undefined
}
