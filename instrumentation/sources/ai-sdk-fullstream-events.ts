/** Parts of the `fullStream` of the AI SDK 7 (ai 7.0.173): those of 6, and what is new. */

import { aiSdkFullstreamV6Events } from './ai-sdk-fullstream-v6-events.ts'
import type { EventTable } from './classifier.ts'

export const aiSdkFullstreamEvents = {
  ...aiSdkFullstreamV6Events,
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
  'tool-approval-response': { class: 'wait-end', kind: 'approval', id: 'approvalId' },
  custom: { class: 'neutral', kind: 'metadata' },
  'reasoning-file': { class: 'content', kind: 'item' },
  'steering-message': { class: 'neutral', kind: 'metadata' },
  ping: { class: 'neutral', kind: 'heartbeat', heartbeat: true },
} as const satisfies EventTable
