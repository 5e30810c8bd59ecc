/** ai-sdk-ui-stream: chunks of the AI SDK 7. An application's own `data-*` chunks are open-ended, and in no table. */

import type { FinishReason, UIMessageChunk } from 'ai'
import type { aiSdkUiStreamEvents } from '../../instrumentation/sources/ai-sdk-ui-stream-events.ts'
import type { At, Difference, Missing, None, Ruled } from './check.ts'

type Table = typeof aiSdkUiStreamEvents

/** Reasons that leave the outcome as it is. */
type Completes = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'interrupted' | 'other'

export type Checks = [
  None<Missing<At<UIMessageChunk, 'type'>, Table>>,
  None<Difference<FinishReason, Ruled<Table['finish'], 'finishReason'> | Completes>>,
]
