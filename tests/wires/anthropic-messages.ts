/** anthropic-messages: the stream of the Messages API and of its beta. The SDK itself takes `ping` and `error`. */

import type {
  BetaRawContentBlockDelta,
  BetaRawContentBlockStartEvent,
  BetaRawMessageStreamEvent,
  BetaStopReason,
} from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type {
  RawContentBlockDelta,
  RawContentBlockStartEvent,
  RawMessageStreamEvent,
  StopReason,
} from '@anthropic-ai/sdk/resources/messages/messages'
import type { anthropicMessagesEvents } from '../../instrumentation/sources/anthropic-messages-events.ts'
import type { At, Difference, Missing, None } from './check.ts'

type Table = typeof anthropicMessagesEvents

type Delta = At<RawContentBlockDelta | BetaRawContentBlockDelta, 'type'>
type Block = At<(RawContentBlockStartEvent | BetaRawContentBlockStartEvent)['content_block'], 'type'>

/** Reasons to stop after a whole answer, as far as this response goes, and after one that is cut short. */
type Whole = 'compaction' | 'end_turn' | 'pause_turn' | 'stop_sequence' | 'tool_use'
type CutShort = 'max_tokens' | 'model_context_window_exceeded' | 'refusal'

export type Checks = [
  None<Missing<At<RawMessageStreamEvent | BetaRawMessageStreamEvent, 'type'>, Table>>,
  None<Missing<`content_block_delta/${Delta}`, Table>>,
  None<Missing<`content_block_start/${Block}`, Table>>,
  None<Difference<StopReason | BetaStopReason, Whole | CutShort>>,
]
