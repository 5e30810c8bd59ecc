/** Tokens as Anthropic's wires tell them, which say how long what was written to the prompt cache lives in it. */

import type { Usage } from '../events.ts'
import { isRaw, type Raw, tokensOf } from './classifier.ts'

/** The usage of a whole turn, as a field of its end; nothing where the wire tells none. */
export function turnUsage(usage: unknown): { usage?: Usage } {
  if (!isRaw(usage)) return {}
  return {
    usage: {
      inputTokens: tokensOf(usage.input_tokens),
      outputTokens: tokensOf(usage.output_tokens),
      cacheReadTokens: tokensOf(usage.cache_read_input_tokens),
      cacheWriteTokens: tokensOf(usage.cache_creation_input_tokens),
      ...cacheWrites(usage),
    },
  }
}

/** A response's usage as far as it is told: later counts replace earlier ones, those that are null or missing stay. */
export function updated(before: Usage | undefined, usage: unknown): Usage | undefined {
  if (!isRaw(usage)) return before
  const latest = (name: string, known = 0) => (Number.isFinite(usage[name]) ? tokensOf(usage[name]) : known)
  return {
    inputTokens: latest('input_tokens', before?.inputTokens),
    outputTokens: latest('output_tokens', before?.outputTokens),
    cacheReadTokens: latest('cache_read_input_tokens', before?.cacheReadTokens),
    cacheWriteTokens: latest('cache_creation_input_tokens', before?.cacheWriteTokens),
    ...(before?.cacheWriteByTtl ? { cacheWriteByTtl: before.cacheWriteByTtl } : {}),
    ...cacheWrites(usage),
  }
}

function cacheWrites({ cache_creation: split }: Raw): Pick<Usage, 'cacheWriteByTtl'> {
  if (!isRaw(split)) return {}
  return {
    cacheWriteByTtl: {
      '5m': tokensOf(split.ephemeral_5m_input_tokens),
      '1h': tokensOf(split.ephemeral_1h_input_tokens),
    },
  }
}
