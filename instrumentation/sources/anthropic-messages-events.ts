/** Stream events of the Anthropic Messages API (@anthropic-ai/sdk 1.14.0, beta union included). */

import type { EventTable } from './classifier.ts'

export const anthropicMessagesEvents = {
  message_start: { class: 'turn-start', kind: 'lifecycle' },
  content_block_start: { class: 'neutral', kind: 'shell' },
  'content_block_start/text': { class: 'neutral', kind: 'shell' },
  'content_block_start/thinking': { class: 'neutral', kind: 'shell' },
  'content_block_start/tool_use': { class: 'neutral', kind: 'shell' },
  'content_block_start/redacted_thinking': { class: 'content', kind: 'reasoning' },
  'content_block_start/compaction': { class: 'neutral', kind: 'shell' },
  'content_block_start/fallback': { class: 'neutral', kind: 'shell' },
  'content_block_start/container_upload': { class: 'content', kind: 'shell' },
  'content_block_start/mcp_tool_listing': { class: 'neutral', kind: 'shell' },
  'content_block_start/server_tool_use': { class: 'tool-start', kind: 'tool', id: 'content_block.id' },
  'content_block_start/mcp_tool_use': { class: 'tool-start', kind: 'tool', id: 'content_block.id' },
  'content_block_start/web_search_tool_result': { class: 'tool-end', kind: 'tool', id: 'content_block.tool_use_id' },
  'content_block_start/web_fetch_tool_result': { class: 'tool-end', kind: 'tool', id: 'content_block.tool_use_id' },
  'content_block_start/advisor_tool_result': { class: 'tool-end', kind: 'tool', id: 'content_block.tool_use_id' },
  'content_block_start/code_execution_tool_result': {
    class: 'tool-end',
    kind: 'tool',
    id: 'content_block.tool_use_id',
  },
  'content_block_start/bash_code_execution_tool_result': {
    class: 'tool-end',
    kind: 'tool',
    id: 'content_block.tool_use_id',
  },
  'content_block_start/text_editor_code_execution_tool_result': {
    class: 'tool-end',
    kind: 'tool',
    id: 'content_block.tool_use_id',
  },
  'content_block_start/tool_search_tool_result': { class: 'tool-end', kind: 'tool', id: 'content_block.tool_use_id' },
  'content_block_start/mcp_tool_result': { class: 'tool-end', kind: 'tool', id: 'content_block.tool_use_id' },
  content_block_delta: { class: 'content', kind: 'token' },
  'content_block_delta/text_delta': {
    class: 'neutral',
    kind: 'token',
    rules: [{ when: { path: 'delta.text', nonEmpty: true }, class: 'content' }],
  },
  'content_block_delta/thinking_delta': {
    class: 'neutral',
    kind: 'reasoning',
    rules: [
      { when: { path: 'delta.thinking', nonEmpty: true }, class: 'content' },
      { when: { path: 'delta.estimated_tokens', gt: 0 }, class: 'content' },
    ],
  },
  'content_block_delta/input_json_delta': {
    class: 'neutral',
    kind: 'tool-args',
    rules: [{ when: { path: 'delta.partial_json', nonEmpty: true }, class: 'content' }],
  },
  'content_block_delta/signature_delta': { class: 'content', kind: 'reasoning' },
  'content_block_delta/citations_delta': { class: 'content', kind: 'token' },
  'content_block_delta/compaction_delta': { class: 'content', kind: 'token' },
  content_block_stop: { class: 'neutral', kind: 'shell' },
  message_delta: { class: 'neutral', kind: 'usage' },
  message_stop: { class: 'terminal-ok', kind: 'lifecycle', outcome: 'completed' },
  ping: { class: 'neutral', kind: 'heartbeat', heartbeat: true },
  error: { class: 'terminal-error', kind: 'lifecycle', outcome: 'error' },
} as const satisfies EventTable
