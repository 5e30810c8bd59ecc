/** What OpenAI's wires share: field names, which SDKs spell in camel case, and the tokens that a response used. */

import type { Usage } from '../events.ts'
import { isRaw, type Raw, tokensOf } from './classifier.ts'

/** A field by its name on the wire, or else by an SDK's. */
export const either = (raw: Raw, wire: string, sdk: string): unknown => raw[wire] ?? raw[sdk]

/** The usage of a response or chat completion; undefined where it is none. */
export function openaiUsage(usage: unknown): Usage | undefined {
  if (!isRaw(usage)) return undefined
  const input = either(usage, 'input_tokens', 'inputTokens') ?? either(usage, 'prompt_tokens', 'promptTokens')
  const output =
    either(usage, 'output_tokens', 'outputTokens') ?? either(usage, 'completion_tokens', 'completionTokens')
  const found =
    either(usage, 'input_tokens_details', 'inputTokensDetails') ??
    either(usage, 'prompt_tokens_details', 'promptTokensDetails')
  const details = isRaw(found) ? found : {}
  const cacheReadTokens = tokensOf(either(details, 'cached_tokens', 'cachedTokens'))
  const cacheWriteTokens = tokensOf(either(details, 'cache_write_tokens', 'cacheWriteTokens'))
  return {
    // The wire counts what was read from the cache or written to it as input too.
    inputTokens: Math.max(0, tokensOf(input) - cacheReadTokens - cacheWriteTokens),
    outputTokens: tokensOf(output),
    cacheReadTokens,
    cacheWriteTokens,
  }
}
