/** Events of the pi coding agent (@earendil-works/pi-coding-agent 1.6.0, and names that earlier ones had), also of its RPC mode. */

import type { EventTable } from './classifier.ts'

export const piEvents = {
  session: { class: 'neutral', kind: 'metadata' },
  agent_start: { class: 'turn-start', kind: 'lifecycle' },
  agent_end: {
    class: 'terminal-ok',
    kind: 'lifecycle',
    outcome: 'completed',
    rules: [
      { when: { path: 'willRetry', equals: true }, class: 'neutral' },
      { when: { path: 'messages[].stopReason', anyIn: ['error'] }, class: 'terminal-error', outcome: 'error' },
      { when: { path: 'messages[].stopReason', anyIn: ['aborted'] }, class: 'terminal-ok', outcome: 'aborted' },
      { when: { path: 'messages[].stopReason', anyIn: ['length'] }, class: 'terminal-ok', outcome: 'incomplete' },
    ],
  },
  agent_settled: {
    class: 'terminal-ok',
    kind: 'lifecycle',
    outcome: 'completed',
    rules: [{ when: { path: 'aborted', equals: true }, class: 'terminal-ok', outcome: 'aborted' }],
  },
  turn_start: { class: 'neutral', kind: 'lifecycle' },
  turn_end: { class: 'neutral', kind: 'lifecycle' },
  message_start: { class: 'neutral', kind: 'shell' },
  message_update: { class: 'neutral', kind: 'shell' },
  'message_update:text_delta': {
    class: 'neutral',
    kind: 'token',
    rules: [{ when: { path: 'assistantMessageEvent.delta', nonEmpty: true }, class: 'content' }],
  },
  'message_update:thinking_delta': {
    class: 'neutral',
    kind: 'reasoning',
    rules: [{ when: { path: 'assistantMessageEvent.delta', nonEmpty: true }, class: 'content' }],
  },
  'message_update:toolcall_delta': {
    class: 'neutral',
    kind: 'tool-args',
    rules: [{ when: { path: 'assistantMessageEvent.delta', nonEmpty: true }, class: 'content' }],
  },
  message_end: {
    class: 'neutral',
    kind: 'item',
    rules: [
      { when: { path: 'message.stopReason', in: ['error', 'aborted'] }, class: 'neutral' },
      { when: { path: 'message.role', equals: 'assistant' }, class: 'content' },
    ],
  },
  tool_execution_start: { class: 'tool-start', kind: 'tool', id: 'toolCallId' },
  tool_execution_update: { class: 'neutral', kind: 'tool-output', id: 'toolCallId' },
  tool_execution_end: { class: 'tool-end', kind: 'tool', id: 'toolCallId' },
  compaction_start: { class: 'tool-start', kind: 'lifecycle', id: '=compaction' },
  compaction_end: { class: 'tool-end', kind: 'lifecycle', id: '=compaction' },
  auto_compaction_start: { class: 'tool-start', kind: 'lifecycle', id: '=compaction' },
  auto_compaction_end: { class: 'tool-end', kind: 'lifecycle', id: '=compaction' },
  auto_retry_start: { class: 'neutral', kind: 'retry', holdMs: 'delayMs' },
  auto_retry_end: { class: 'neutral', kind: 'lifecycle' },
  summarization_retry_scheduled: { class: 'neutral', kind: 'lifecycle' },
  summarization_retry_attempt_start: { class: 'neutral', kind: 'lifecycle' },
  summarization_retry_finished: { class: 'neutral', kind: 'lifecycle' },
  queue_update: { class: 'neutral', kind: 'metadata' },
  entry_appended: { class: 'neutral', kind: 'metadata' },
  session_info_changed: { class: 'neutral', kind: 'metadata' },
  thinking_level_changed: { class: 'neutral', kind: 'metadata' },
  bash_execution_update: { class: 'neutral', kind: 'client' },
  extension_ui_request: {
    class: 'neutral',
    kind: 'user-input',
    id: 'id',
    rules: [{ when: { path: 'method', in: ['select', 'confirm', 'input', 'editor'] }, class: 'wait-start' }],
  },
  extension_ui_response: { class: 'wait-end', kind: 'user-input', id: 'id' },
  extension_error: { class: 'neutral', kind: 'metadata' },
  response: { class: 'neutral', kind: 'metadata' },
} as const satisfies EventTable
