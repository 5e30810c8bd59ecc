/** openai-responses: events of a streamed response. */

import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import type { openaiResponsesEvents } from '../../instrumentation/sources/openai-responses-events.ts'
import type { At, Missing, None } from './check.ts'

type Table = typeof openaiResponsesEvents

export type Checks = [None<Missing<At<ResponseStreamEvent, 'type'>, Table>>]
