/** A watch that lists what it is told, a line each, and timers that go by hand. */

import type { TurnEvent } from '../../instrumentation/events.ts'
import type { Watcher } from '../../instrumentation/sources/index.ts'
import type { Later } from '../../instrumentation/taps/later.ts'
import { lines, type Said } from '../sources/read.ts'

export class Recorder implements Watcher {
  readonly #said: Said[] = []
  /** What could not be read, or is of no known type. */
  readonly faults: string[] = []

  observe = (thread: string, event: TurnEvent): void => {
    this.#said.push({ thread, event })
  }

  unclassified = (source: string, type: string): void => {
    this.faults.push(`${source}: ${type}`)
  }

  unreadable = (source: string, error: unknown): void => {
    this.faults.push(`${source}: ${error}`)
  }

  /** Every event but side ones, in order. */
  get lines(): string[] {
    return lines(this.#said).map(undated)
  }
}

/** A line without the time at which a connection was made, which is part of the ids of its turns. */
export const undated = (line: string): string => line.replace(/\b(msg|next|c)-\w+/, '$1')

/** Timers for who is given `later`. */
export class HandTimers {
  now = 0
  #due: { at: number; work: () => void }[] = []

  later: Later = (ms, work) => {
    this.#due.push({ at: this.now + ms, work })
  }

  /** How many are set. */
  get pending(): number {
    return this.#due.length
  }

  pass(ms: number): void {
    const until = this.now + ms
    for (;;) {
      const next = this.#due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#due.splice(this.#due.indexOf(next), 1)
      this.now = next.at
      next.work()
    }
    this.now = until
  }
}

/** Messages of Claude Code, and the lines that they make in thread `t`. */
export const claude = {
  source: 'claude-code-stream-json',
  init: { type: 'system', subtype: 'init', session_id: 's', model: 'm' },
  text: { type: 'assistant', session_id: 's', message: { content: [{ type: 'text', text: 'hi' }] } },
  result: { type: 'result', subtype: 'success', session_id: 's' },
  started: 't turn.started provider=claudeAgent model=m',
  token: 't token stream=text',
  completed: 't turn.ended outcome=completed',
  aborted: 't turn.ended outcome=aborted',
  exit: 't exit',
} as const

/** One whole turn of Claude Code, and its lines. */
export const turn = [claude.init, claude.text, claude.result]
export const turnLines = [claude.started, claude.token, claude.completed]

/** A response of Anthropic's API, and its lines in thread `t`, where that is an option. */
export const api = {
  source: 'anthropic-messages',
  start: { type: 'message_start', message: { id: 'msg', model: 'm' } },
  delta: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'é 🙂' } },
  stop: { type: 'message_stop' },
  requested: 't turn.started provider=anthropic',
  started: 't turn.started provider=anthropic model=m turn=msg',
  token: 't token stream=text turn=msg',
  completed: 't turn.ended outcome=completed turn=msg',
  aborted: 't turn.ended outcome=aborted turn=msg',
  exit: 't exit turn=msg',
} as const

export const answer = [api.start, api.delta, api.stop]
export const answerLines = [api.requested, api.started, api.token, api.completed]

export const sse = (events: readonly unknown[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

export const ndjson = (events: readonly unknown[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('')
