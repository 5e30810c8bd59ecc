/** ai-sdk-fullstream-v6: parts of the AI SDK 6. */

import type { FinishReason, TextStreamPart, ToolSet } from 'ai6'
import type { aiSdkFullstreamV6Events } from '../../instrumentation/sources/ai-sdk-fullstream-v6-events.ts'
import type { At, Difference, Missing, None, Ruled } from './check.ts'

type Table = typeof aiSdkFullstreamV6Events

export type Checks = [
  None<Missing<At<TextStreamPart<ToolSet>, 'type'>, Table>>,
  None<Difference<FinishReason, Ruled<Table['finish'], 'finishReason'> | 'stop' | 'tool-calls' | 'other'>>,
]
