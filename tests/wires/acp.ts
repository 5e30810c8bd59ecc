/** acp: what an agent sends, in version 1 of the protocol, in its unstable part, and in the draft of version 2. */

import type { CLIENT_METHODS, PROTOCOL_METHODS, SessionUpdate, StopReason } from '@agentclientprotocol/sdk'
import type { CLIENT_METHODS as METHODS_V2, SessionUpdate as UpdateV2 } from '@agentclientprotocol/sdk/experimental/v2'
import type {
  IdleStateUpdate,
  CLIENT_METHODS as METHODS_V2_UNSTABLE,
  StateUpdate,
  SessionUpdate as UpdateV2Unstable,
} from '@agentclientprotocol/sdk/experimental/v2/unstable'
import type {
  CLIENT_METHODS as METHODS_UNSTABLE,
  StopReason as StopReasonUnstable,
  ToolCallStatus,
  SessionUpdate as UpdateUnstable,
} from '@agentclientprotocol/sdk/unstable'
import type { acpEvents } from '../../instrumentation/sources/acp-events.ts'
import type { At, Difference, Missing, None, Ruled } from './check.ts'
import type { zCompactionStatus } from './node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js'
import type {
  zCompactionStatus as zCompactionStatusV2,
  zToolCallStatus as zToolCallStatusV2,
} from './node_modules/@agentclientprotocol/sdk/dist/v2/schema/zod.gen.js'

type Table = typeof acpEvents
type UpdateRules<Kind extends string, Path extends string> = Ruled<
  Table[`session/update:${Kind}` & keyof Table],
  `params.update.${Path}`
>

type Update = At<SessionUpdate | UpdateUnstable | UpdateV2 | UpdateV2Unstable, 'sessionUpdate'>

type MethodsOf<Methods> = Methods[keyof Methods]
type Method =
  | MethodsOf<typeof CLIENT_METHODS>
  | MethodsOf<typeof METHODS_UNSTABLE>
  | MethodsOf<typeof METHODS_V2>
  | MethodsOf<typeof METHODS_V2_UNSTABLE>
  | MethodsOf<typeof PROTOCOL_METHODS>

type IdleReason = At<IdleStateUpdate, 'stopReason'>

/** The literals of a status that is open to others: its type is `string`, but its schema still tells them apart. */
type Listed<Schema> = Schema extends { readonly options: readonly (infer Option)[] } ? At<Option, 'value'> : never

/** With other agents' words for a compaction that runs. */
type CompactionStatus =
  | Listed<typeof zCompactionStatus | typeof zCompactionStatusV2>
  | 'pending'
  | 'running'
  | 'started'

export type Checks = [
  None<Missing<`session/update:${Update}`, Table>>,
  None<Missing<Exclude<Method, 'session/update'>, Table>>,
  // A session that becomes idle has the reasons of an answer.
  None<Missing<`response:session/prompt:${StopReason | StopReasonUnstable | IdleReason}`, Table>>,
  None<Difference<ToolCallStatus | 'cancelled', UpdateRules<'tool_call', 'status'> | 'pending' | 'in_progress'>>,
  None<Difference<ToolCallStatus | Listed<typeof zToolCallStatusV2>, UpdateRules<'tool_call_update', 'status'>>>,
  None<Difference<CompactionStatus, UpdateRules<'compaction_update', 'status'>>>,
  None<Difference<At<StateUpdate, 'state'>, UpdateRules<'state_update', 'state'> | 'unknown'>>,
]
