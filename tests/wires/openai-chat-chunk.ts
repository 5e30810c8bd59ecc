/** openai-chat-chunk: fields of a delta and reasons to finish, of OpenAI and OpenRouter. The reference has the keys. */

import type { ChatFinishReasonEnum, ChatStreamDelta } from '@openrouter/sdk/models'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import reference from '../data/event-classes.json' with { type: 'json' }
import type { Difference, Missing, None } from './check.ts'

type Table = (typeof reference)['openai-chat-chunk']['events']

type Delta = ChatCompletionChunk.Choice.Delta
type FinishReason =
  | NonNullable<ChatCompletionChunk.Choice['finish_reason']>
  | (typeof ChatFinishReasonEnum)[keyof typeof ChatFinishReasonEnum]

/** A name as on the wire: OpenRouter's SDK turns `tool_calls` into `toolCalls`. */
type Wire<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Wire<Rest>}`
  : ''

type Whole = 'function_call' | 'stop' | 'tool_calls'
type CutShort = 'content_filter' | 'length'

export type Checks = [
  None<Missing<`delta.${keyof Delta}`, Table>>,
  None<Missing<`delta.${Wire<keyof ChatStreamDelta>}`, Table>>,
  None<Difference<FinishReason, Whole | CutShort | 'error'>>,
]
