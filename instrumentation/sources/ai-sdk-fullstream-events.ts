/** Parts of the `fullStream` of the AI SDK 7 (ai 7.0.173). */

import type { EventTable } from './classifier.ts'

export const aiSdkFullstreamEvents = {
  start: { class: 'turn-start', kind: 'lifecycle' },
  'start-step': { class: 'neutral', kind: 'lifecycle' },
  'text-start': { class: 'neutral', kind: 'shell' },
  'text-delta': {
    class: 'neutral',
    kind: 'token',
    rules: [{ when: { path: 'text', nonEmpty: true }, class: 'content' }],
  },
  'text-end': { class: 'neutral', kind: 'shell' },
  'reasoning-start': { class: 'neutral', kind: 'shell' },
  'reasoning-delta': {
    class: 'neutral',
    kind: 'reasoning',
    rules: [{ when: { path: 'text', nonEmpty: true }, class: 'content' }],
  },
  'reasoning-end': { class: 'neutral', kind: 'shell' },
  'tool-input-start': { class: 'neutral', kind: 'shell' },
  'tool-input-delta': {
    class: 'neutral',
    kind: 'tool-args',
    rules: [{ when: { path: 'delta', nonEmpty: true }, class: 'content' }],
  },
  'tool-input-end': { class: 'neutral', kind: 'shell' },
  source: { class: 'neutral', kind: 'metadata' },
  file: { class: 'content', kind: 'item' },
  'tool-call': { class: 'tool-start', kind: 'tool', id: 'toolCallId' },
  'tool-result': {
    class: 'tool-end',
    kind: 'tool',
    id: 'toolCallId',
    rules: [{ when: { path: 'preliminary', equals: true }, class: 'neutral', kind: 'tool-output' }],
  },
  'tool-error': { class: 'tool-end', kind: 'tool', id: 'toolCallId' },
  'tool-output-denied': { class: 'tool-end', kind: 'tool', id: 'toolCallId' },
  'tool-approval-request': { class: 'wait-start', kind: 'approval', id: 'approvalId' },
  'finish-step': { class: 'neutral', kind: 'usage' },
  finish: {
    class: 'terminal-ok',
    kind: 'lifecycle',
    outcome: 'completed',
    rules: [
      { when: { path: 'finishReason', equals: 'error' }, class: 'terminal-error', outcome: 'error' },
      {
        when: { path: 'finishReason', in: ['length', 'content-filter', 'interrupted'] },
        class: 'terminal-ok',
        outcome: 'incomplete',
      },
    ],
  },
  abort: { class: 'terminal-ok', kind: 'lifecycle', outcome: 'aborted' },
  error: { class: 'terminal-error', kind: 'lifecycle', outcome: 'error' },
  raw: { class: 'neutral', kind: 'metadata' },
  'tool-approval-response': { class: 'wait-end', kind: 'approval', id: 'approvalId' },
  custom: { class: 'neutral', kind: 'metadata' },
  'reasoning-file': { class: 'content', kind: 'item' },
  'steering-message': { class: 'neutral', kind: 'metadata' },
  ping: { class: 'neutral', kind: 'heartbeat', heartbeat: true },
} as const satisfies EventTable
