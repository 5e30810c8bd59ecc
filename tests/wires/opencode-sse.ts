/** opencode-sse: events of the server in both generations of its API, and the parts, states and errors in them. */

import type { Event, Part, SessionStatus, ToolState } from '@opencode-ai/sdk'
import type {
  EventSessionError as ErrorV2,
  Event as EventV2,
  Part as PartV2,
  ToolState as StateV2,
  SessionStatus as StatusV2,
} from '@opencode-ai/sdk/v2/types'
import type { opencodeSseEvents } from '../../instrumentation/sources/opencode-sse-events.ts'
import type { At, Difference, Missing, None, Ruled } from './check.ts'

type Table = typeof opencodeSseEvents
type PartRules<Path extends string> = Ruled<Table['message.part.updated'], Path>

type SessionError = Extract<Event, { type: 'session.error' }>['properties']['error'] | ErrorV2['properties']['error']

/** Judged by their text or their tool's state. */
type JudgedByContent = 'text' | 'reasoning' | 'tool'

/** Errors that end the turn as one. */
type EndsInError =
  | 'APIError'
  | 'ContentFilterError'
  | 'ContextOverflowError'
  | 'MessageOutputLengthError'
  | 'ProviderAuthError'
  | 'StructuredOutputError'
  | 'UnknownError'

export type Checks = [
  None<Missing<At<Event | EventV2, 'type'>, Table>>,
  None<Difference<At<Part | PartV2, 'type'>, PartRules<'properties.part.type'> | JudgedByContent>>,
  None<Difference<At<ToolState | StateV2, 'status'>, PartRules<'properties.part.state.status'>>>,
  None<Difference<At<SessionStatus | StatusV2, 'type'>, Ruled<Table['session.status'], 'properties.status.type'>>>,
  None<Difference<At<SessionError, 'name'>, Ruled<Table['session.error'], 'properties.error.name'> | EndsInError>>,
]
