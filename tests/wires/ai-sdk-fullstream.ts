/** ai-sdk-fullstream: parts of the AI SDK 7. */

import type { FinishReason, TextStreamPart, ToolSet } from 'ai'
import type { aiSdkFullstreamEvents } from '../../instrumentation/sources/ai-sdk-fullstream-events.ts'
import type { At, Difference, Missing, None, Ruled } from './check.ts'

type Table = typeof aiSdkFullstreamEvents

export type Checks = [
  None<Missing<At<TextStreamPart<ToolSet>, 'type'>, Table>>,
  None<Difference<FinishReason, Ruled<Table['finish'], 'finishReason'> | 'stop' | 'tool-calls' | 'other'>>,
]
