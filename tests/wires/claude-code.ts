/** claude-code-stream-json: every line that the agent writes, and the parts of the messages in them. */

import type {
  SDKControlRequest,
  SDKSessionStateChangedMessage,
  SDKStatus,
  TerminalReason,
  Transport,
} from '@anthropic-ai/claude-agent-sdk'
import type {
  BetaContentBlock,
  BetaRawContentBlockDelta,
  BetaRawContentBlockStartEvent,
  BetaRawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type { claudeCodeEvents } from '../../instrumentation/sources/claude-code-events.ts'
import type { At, Difference, Missing, None, Ruled } from './check.ts'

type Table = typeof claudeCodeEvents

type Line = ReturnType<Transport['readMessages']> extends AsyncGenerator<infer Message> ? Message : never

/** The key of a line in the table; a control message has its subtype one level further in. */
type Key<Message> = Message extends { type: 'stream_event' | 'control_request' | 'control_response' }
  ? never
  : Message extends { type: infer Type extends string; subtype: infer Subtype extends string }
    ? `${Type}/${Subtype}`
    : At<Message, 'type'>

type Block = At<BetaRawContentBlockStartEvent['content_block'], 'type'>

type ControlResponse = Extract<Line, { type: 'control_response' }>['response']

/** Requests of our side to the agent; the agent itself asks for little, and each of that is decided one by one. */
type SentByClient =
  | 'apply_flag_settings'
  | 'background_tasks'
  | 'cancel_async_message'
  | 'file_suggestions'
  | 'get_binary_version'
  | 'get_context_usage'
  | 'get_hooks_listing'
  | 'get_session_cost'
  | 'get_settings'
  | 'get_task_output'
  | 'get_usage'
  | 'initialize'
  | 'interrupt'
  | 'list_models'
  | 'list_permission_rules'
  | 'mcp_call'
  | 'mcp_read_resource'
  | 'mcp_reconnect'
  | 'mcp_set_servers'
  | 'mcp_status'
  | 'mcp_toggle'
  | 'read_file'
  | 'register_repo_root'
  | 'reload_output_styles'
  | 'reload_plugins'
  | 'reload_skills'
  | 'rename_session'
  | 'rewind_files'
  | 'seed_read_state'
  | 'set_color'
  | 'set_has_subscribers'
  | 'set_max_thinking_tokens'
  | 'set_model'
  | 'set_permission_mode'
  | 'stop_task'
  | 'update_settings'

/** Reasons that leave the outcome to the result's subtype. */
type AsItsSubtype =
  | 'api_error'
  | 'background_requested'
  | 'blocking_limit'
  | 'budget_exhausted'
  | 'completed'
  | 'hook_stopped'
  | 'image_error'
  | 'malformed_tool_use_exhausted'
  | 'max_turns'
  | 'model_error'
  | 'prompt_too_long'
  | 'rapid_refill_breaker'
  | 'stop_hook_prevented'
  | 'structured_output_retry_exhausted'
  | 'tool_deferred'
  | 'tool_deferred_unavailable'
  | 'turn_setup_failed'

/** Blocks of an assistant message that are content as the message is. */
type ContentBlock =
  | 'compaction'
  | 'container_upload'
  | 'fallback'
  | 'mcp_tool_listing'
  | 'redacted_thinking'
  | 'text'
  | 'thinking'

export type Checks = [
  None<Missing<Key<Line>, Table>>,
  None<Missing<`stream_event/${At<BetaRawMessageStreamEvent, 'type'>}`, Table>>,
  None<Missing<`stream_event/content_block_delta/${At<BetaRawContentBlockDelta, 'type'>}`, Table>>,
  None<Missing<`stream_event/content_block_start/${Block}`, Table>>,
  None<Missing<`control_request/${Exclude<At<SDKControlRequest['request'], 'subtype'>, SentByClient>}`, Table>>,
  None<Missing<`control_response/${At<ControlResponse, 'subtype'>}`, Table>>,
  None<Difference<At<BetaContentBlock, 'type'>, Ruled<Table['assistant'], 'message.content[].type'> | ContentBlock>>,
  None<Difference<NonNullable<SDKStatus>, Ruled<Table['system/status'], 'status'> | 'requesting'>>,
  None<
    Difference<SDKSessionStateChangedMessage['state'], Ruled<Table['system/session_state_changed'], 'state'> | 'idle'>
  >,
  None<Difference<TerminalReason, Ruled<Table['result/success'], 'terminal_reason'> | AsItsSubtype>>,
  None<Difference<TerminalReason, Ruled<Table['result/error_during_execution'], 'terminal_reason'> | AsItsSubtype>>,
]
