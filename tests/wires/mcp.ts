/** mcp: requests and notifications of both sides. */

import type {
  ClientNotification,
  ClientRequest,
  ServerNotification,
  ServerRequest,
  TaskStatus,
} from '@modelcontextprotocol/sdk/types.js'
import type { mcpEvents } from '../../instrumentation/sources/mcp-events.ts'
import type { At, Difference, Missing, None, Ruled } from './check.ts'

type Table = typeof mcpEvents

export type Checks = [
  None<Missing<At<ServerNotification | ClientNotification, 'method'>, Table>>,
  None<Missing<At<ServerRequest | ClientRequest, 'method'>, Table>>,
  None<Difference<TaskStatus, Ruled<Table['notifications/tasks/status'], 'params.status'>>>,
]
