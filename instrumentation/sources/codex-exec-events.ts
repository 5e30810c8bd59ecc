/** Event types of `codex exec --json` (Codex SDK 0.163.0, codex-cli 0.171.0). Whole items only: tool arguments and text stream silently. */

import type { EventTable } from './classifier.ts'

export const codexExecEvents = {
  'thread.started': { class: 'neutral', kind: 'lifecycle' },
  'turn.started': { class: 'turn-start', kind: 'lifecycle' },
  'turn.completed': { class: 'terminal-ok', kind: 'lifecycle', outcome: 'completed' },
  'turn.failed': { class: 'terminal-error', kind: 'lifecycle', outcome: 'error' },
  'item.started': {
    class: 'neutral',
    kind: 'item',
    rules: [
      {
        when: {
          path: 'item.type',
          in: ['command_execution', 'file_change', 'mcp_tool_call', 'web_search', 'collab_tool_call'],
        },
        class: 'tool-start',
        id: 'item.id',
      },
      { when: { path: 'item.type', equals: 'todo_list' }, class: 'content' },
    ],
  },
  'item.updated': {
    class: 'neutral',
    kind: 'item',
    rules: [
      { when: { path: 'item.type', in: ['todo_list', 'agent_message', 'reasoning', 'plan'] }, class: 'content' },
      {
        when: {
          path: 'item.type',
          in: ['command_execution', 'file_change', 'mcp_tool_call', 'web_search', 'collab_tool_call'],
        },
        class: 'neutral',
        kind: 'tool-output',
      },
    ],
  },
  'item.completed': {
    class: 'neutral',
    kind: 'item',
    rules: [
      {
        when: {
          path: 'item.type',
          in: ['command_execution', 'file_change', 'mcp_tool_call', 'web_search', 'collab_tool_call'],
        },
        class: 'tool-end',
        id: 'item.id',
      },
      { when: { path: 'item.type', in: ['agent_message', 'reasoning', 'plan'] }, class: 'content' },
      { when: { path: 'item.type', equals: 'error' }, class: 'neutral' },
    ],
  },
  'item.plan.delta': { class: 'content', kind: 'token' },
  request_user_input: { class: 'wait-start', kind: 'user-input', id: 'call_id' },
  error: {
    class: 'terminal-error',
    kind: 'lifecycle',
    outcome: 'error',
    rules: [{ when: { path: 'message', matches: '^Reconnecting' }, class: 'neutral', kind: 'retry' }],
  },
} as const satisfies EventTable
