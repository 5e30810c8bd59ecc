/** Event types of `opencode run --format json` (opencode 1.18.33). A tool is shown only when it is finished. */

import type { EventTable } from './classifier.ts'

export const opencodeRunEvents = {
  step_start: { class: 'turn-start', kind: 'lifecycle' },
  text: { class: 'content', kind: 'item' },
  reasoning: { class: 'content', kind: 'item' },
  tool_use: { class: 'content', kind: 'item' },
  step_finish: {
    class: 'neutral',
    kind: 'usage',
    rules: [
      { when: { path: 'part.reason', equals: 'tool-calls' }, class: 'neutral' },
      { when: { path: 'part.reason', in: ['stop', 'end_turn'] }, class: 'terminal-ok', outcome: 'completed' },
      { when: { path: 'part.reason', in: ['length', 'content-filter'] }, class: 'terminal-ok', outcome: 'incomplete' },
      { when: { path: 'part.reason', equals: 'error' }, class: 'terminal-error', outcome: 'error' },
    ],
  },
  error: { class: 'terminal-error', kind: 'lifecycle', outcome: 'error' },
} as const satisfies EventTable
