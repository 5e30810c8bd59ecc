/** openrouter-responses: events of a streamed response, but for the one that stands for what the SDK does not know. */

import type { StreamEvents } from '@openrouter/sdk/models'
import type { openrouterResponsesEvents } from '../../instrumentation/sources/openrouter-responses-events.ts'
import type { At, Missing, None } from './check.ts'

type Table = typeof openrouterResponsesEvents
type Known = Exclude<StreamEvents, { isUnknown: true }>

export type Checks = [None<Missing<At<Known, 'type'>, Table>>]
