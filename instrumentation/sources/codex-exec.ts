/** `codex exec --json`: whole items, no deltas, no turn ids. */

import { dropOldest } from '../drop-oldest.ts'
import type { TurnEvent, Usage } from '../events.ts'
import { type Classified, Classifier, isRaw, type Raw, text, tokensOf } from './classifier.ts'
import { toolStart } from './codex-app-server.ts'
import { codexExecEvents } from './codex-exec-events.ts'
import {
  type Direction,
  type Emit,
  plainEvents,
  type Source,
  type SourceOptions,
  streamOfKind,
  ThreadIds,
  TOKEN,
  turnStarted,
  unknownEvent,
} from './source.ts'

const NAME = 'codex-exec-json'
/** The thread until the wire names it. */
const UNNAMED = 'codex'

export const codexExecClassifier = new Classifier(codexExecEvents, ['{type}'])

/**
 * The totals of the threads that this process has heard of last: a process that resumes a thread, as Codex's SDK starts
 * one for each turn, begins at the total of all turns before.
 */
const totals = new Map<string, Usage>()
const MAX_THREADS = 1000

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

export class CodexExecSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #threads: ThreadIds
  readonly #wallMs: () => number
  #session = UNNAMED
  #started = false
  /** A question that the next item or turn event answers. */
  #question: string | undefined
  /** The wire reports the thread's running total; a turn's own usage is what it grew by. */
  #total: Usage | undefined

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#threads = new ThreadIds(options.thread)
    this.#wallMs = options.wallMs ?? Date.now
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw) || direction === 'out') return
    const type = text(raw.type)
    if (type === undefined) return
    if (type === 'thread.started') this.#session = text(raw.thread_id) ?? this.#session
    const thread = this.#threads.of(this.#session)
    if (this.#question !== undefined && /^(item|turn)\./.test(type)) {
      emit(thread, { kind: 'wait.ended', id: this.#question })
      this.#question = undefined
    }
    const found = codexExecClassifier.classify(raw)
    if (found.key === 'request_user_input') this.#question = text(raw.call_id)
    switch (found.class) {
      case 'turn-start':
        this.#started = true
        emit(thread, turnStarted('codex', this.#options))
        return
      case 'content':
        this.#started = true
        emit(thread, contentEvent(raw, found))
        return
      case 'terminal-ok':
        emit(thread, { kind: 'turn.ended', outcome: found.outcome ?? 'completed', ...this.#usage(raw.usage) })
        return
      case 'terminal-error':
        // A run that fails before its turn began is a failed turn all the same.
        if (!this.#started) emit(thread, turnStarted('codex', this.#options))
        this.#started = true
        emit(thread, { kind: 'error', message: errorMessage(raw) })
        emit(thread, { kind: 'turn.ended', outcome: 'error' })
        return
      default:
        if (found.key === null) {
          this.#options.onUnclassified?.(NAME, type)
          emit(thread, unknownEvent(type))
          return
        }
        if (found.class === 'tool-start') this.#started = true
        for (const event of plainEvents(raw, found, this.#wallMs(), toolStart(raw))) emit(thread, event)
    }
  }

  #usage(usage: unknown): { usage?: Usage } {
    if (!isRaw(usage)) return {}
    const cacheReadTokens = tokensOf(usage.cached_input_tokens)
    const cacheWriteTokens = tokensOf(usage.cache_write_input_tokens)
    const total = {
      // The wire counts what was read from the cache or written to it as input too.
      inputTokens: Math.max(0, tokensOf(usage.input_tokens) - cacheReadTokens - cacheWriteTokens),
      outputTokens: tokensOf(usage.output_tokens),
      cacheReadTokens,
      cacheWriteTokens,
    }
    const before = this.#total ?? resumedFrom(totals.get(this.#session), total)
    this.#total = total
    if (this.#session !== UNNAMED) {
      totals.delete(this.#session)
      totals.set(this.#session, total)
      dropOldest(totals, MAX_THREADS)
    }
    return {
      usage: {
        inputTokens: Math.max(0, total.inputTokens - before.inputTokens),
        outputTokens: Math.max(0, total.outputTokens - before.outputTokens),
        cacheReadTokens: Math.max(0, total.cacheReadTokens - before.cacheReadTokens),
        cacheWriteTokens: Math.max(0, total.cacheWriteTokens - before.cacheWriteTokens),
      },
    }
  }
}

/** The total that a first turn here goes on from: nothing where it did not grow, as when a recording is read again. */
function resumedFrom(known: Usage | undefined, total: Usage): Usage {
  if (known === undefined) return NOTHING
  const grew = total.inputTokens > known.inputTokens || total.cacheReadTokens > known.cacheReadTokens
  const shrank = total.inputTokens < known.inputTokens || total.outputTokens < known.outputTokens
  return grew && !shrank ? known : NOTHING
}

function contentEvent(raw: Raw, found: Classified): TurnEvent {
  const item = isRaw(raw.item) ? raw.item : {}
  return TOKEN[streamOfKind(found.kind) ?? (item.type === 'reasoning' ? 'reasoning' : 'text')]
}

function errorMessage(raw: Raw): string {
  const error = isRaw(raw.error) ? raw.error : {}
  return text(raw.message) ?? text(error.message) ?? 'the agent reported an error'
}
