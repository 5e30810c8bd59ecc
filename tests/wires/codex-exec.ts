/** codex-exec-json: events of a thread, and the types of the items in them. */

import type { ThreadEvent, ThreadItem } from '@openai/codex-sdk'
import type { codexExecEvents } from '../../instrumentation/sources/codex-exec-events.ts'
import type { At, Difference, Missing, None, Ruled } from './check.ts'

type Table = typeof codexExecEvents

/** Written by the command, and not in the SDK's union. */
type Item = At<ThreadItem, 'type'> | 'plan' | 'collab_tool_call'

export type Checks = [
  None<Missing<At<ThreadEvent, 'type'>, Table>>,
  // Text is opened empty; a notice is no progress.
  None<Difference<Item, Ruled<Table['item.started'], 'item.type'> | 'agent_message' | 'reasoning' | 'plan' | 'error'>>,
  None<Difference<Item, Ruled<Table['item.updated'], 'item.type'> | 'error'>>,
  // A list of tasks is completed when its turn is.
  None<Difference<Item, Ruled<Table['item.completed'], 'item.type'> | 'todo_list'>>,
]
