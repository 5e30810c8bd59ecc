/** Chunks of the UI message stream of the AI SDK 7 (ai 7.0.173). */

import type { EventTable } from './classifier.ts'

export const aiSdkUiStreamEvents = {
  start: { class: 'turn-start', kind: 'lifecycle' },
  'start-step': { class: 'neutral', kind: 'lifecycle' },
  'finish-step': { class: 'neutral', kind: 'lifecycle' },
  'reset-step': { class: 'neutral', kind: 'retry' },
  finish: {
    class: 'terminal-ok',
    kind: 'lifecycle',
    outcome: 'completed',
    rules: [{ when: { path: 'finishReason', equals: 'error' }, class: 'terminal-error', outcome: 'error' }],
  },
  abort: { class: 'terminal-ok', kind: 'lifecycle', outcome: 'aborted' },
  error: { class: 'terminal-error', kind: 'lifecycle', outcome: 'error' },
  'message-metadata': { class: 'neutral', kind: 'metadata' },
  custom: { class: 'neutral', kind: 'metadata' },
  'steering-message': { class: 'neutral', kind: 'metadata' },
  'text-start': { class: 'neutral', kind: 'shell' },
  'text-delta': {
    class: 'neutral',
    kind: 'token',
    rules: [{ when: { path: 'delta', nonEmpty: true }, class: 'content' }],
  },
  'text-end': { class: 'neutral', kind: 'shell' },
  'reasoning-start': { class: 'neutral', kind: 'shell' },
  'reasoning-delta': {
    class: 'neutral',
    kind: 'reasoning',
    rules: [{ when: { path: 'delta', nonEmpty: true }, class: 'content' }],
  },
  'reasoning-end': { class: 'neutral', kind: 'shell' },
  'reasoning-file': { class: 'content', kind: 'item' },
  file: { class: 'content', kind: 'item' },
  'source-url': { class: 'neutral', kind: 'metadata' },
  'source-document': { class: 'neutral', kind: 'metadata' },
  'tool-input-start': { class: 'neutral', kind: 'shell' },
  'tool-input-delta': {
    class: 'neutral',
    kind: 'tool-args',
    rules: [{ when: { path: 'inputTextDelta', nonEmpty: true }, class: 'content' }],
  },
  'tool-input-available': { class: 'tool-start', kind: 'tool', id: 'toolCallId' },
  'tool-input-error': { class: 'tool-end', kind: 'tool', id: 'toolCallId' },
  'tool-output-available': {
    class: 'tool-end',
    kind: 'tool',
    id: 'toolCallId',
    rules: [{ when: { path: 'preliminary', equals: true }, class: 'neutral', kind: 'tool-output' }],
  },
  'tool-output-error': { class: 'tool-end', kind: 'tool', id: 'toolCallId' },
  'tool-output-denied': { class: 'tool-end', kind: 'tool', id: 'toolCallId' },
  'tool-approval-request': { class: 'wait-start', kind: 'approval', id: 'approvalId' },
  'tool-approval-response': { class: 'wait-end', kind: 'approval', id: 'approvalId' },
} as const satisfies EventTable
