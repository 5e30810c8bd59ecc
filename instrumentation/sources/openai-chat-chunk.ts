/**
 * The stream of chat completions, as OpenAI and many others speak it, on the wire or out of an SDK: each completion is a
 * turn, which is over when all its choices are.
 */

import { dropOldest } from '../drop-oldest.ts'
import { type Outcome, UNKNOWN } from '../events.ts'
import { type Classified, isRaw, type Raw, text } from './classifier.ts'
import { choicesOf, finishReasonOf, openaiChatChunkClassifier, spokenOf } from './openai-chat-classes.ts'
import { openaiUsage } from './openai-fields.ts'
import { type ResponseTurn, ResponseTurns } from './response-turn.ts'
import { type Direction, type Emit, RecentSet, type Source, type SourceOptions, streamOfKind } from './source.ts'

export { openaiChatChunkClassifier }

/** Completions remembered of one connection. */
const MAX_COMPLETIONS = 100

/** Choices remembered of a completion. */
const MAX_CHOICES = 1000

/** Tool calls remembered of a completion. */
const MAX_CALLS = 1000

interface Completion {
  readonly turn: ResponseTurn
  /** Choices seen, and whether each is over. */
  readonly choices: Map<unknown, boolean>
  /** Ids and names of tool calls that were told: again, without arguments, they say nothing. */
  readonly calls: RecentSet
  outcome: Outcome
  usage: unknown
}

export class OpenaiChatChunkSource implements Source {
  readonly name = 'openai-chat-chunk'
  readonly #turns: ResponseTurns
  /** By id, since each chunk names its completion. */
  readonly #completions = new Map<string, Completion>()
  /** What names no completion belongs to it. */
  #latest: Completion

  constructor(options: SourceOptions = {}) {
    this.#turns = new ResponseTurns('openai', options)
    this.#latest = this.#make(undefined)
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (direction === 'out') return
    if (typeof raw === 'string') return this.#line(raw, emit)
    if (!isRaw(raw)) return
    const found = openaiChatChunkClassifier.classify(raw)
    const isNew = this.#find(raw, found, emit)
    const completion = this.#latest
    const { turn } = completion
    completion.usage = raw.usage ?? completion.usage
    if (found.key === 'error') return turn.fail(errorMessage(raw), openaiUsage(completion.usage), emit)
    const choices = choicesOf(raw)
    for (const choice of choices) note(completion, choice)
    const speaks = found.class === 'content' || found.key === 'finish_reason'
    const content = speaks ? spokenOf(choices, completion.calls) : undefined
    if (content !== undefined) emit(turn.thread, turn.token(streamOfKind(content.kind) ?? 'text'))
    if (found.key === 'finish_reason') finish(completion, raw, emit)
    else if (content === undefined && !isNew) emit(turn.thread, turn.of({ kind: 'side', what: found.key ?? UNKNOWN }))
  }

  /** Lines of the stream that are no chunks. */
  #line(line: string, emit: Emit): void {
    const { turn } = this.#latest
    const { class: is, key } = openaiChatChunkClassifier.classify(line)
    if (is === 'terminal-ok') end(this.#latest, {}, emit)
    else emit(turn.thread, turn.of({ kind: 'side', what: key ?? UNKNOWN }))
  }

  /** Makes the chunk's completion the latest; true where the chunk began it. */
  #find(chunk: Raw, found: Classified, emit: Emit): boolean {
    const id = text(chunk.id)
    const model = text(chunk.model)
    const known = id === undefined ? this.#unnamed(chunk, found) : this.#named(id, chunk, found)
    if (known !== undefined) {
      this.#latest = known
      if (known.turn.running) known.turn.start(model, emit)
      return false
    }
    this.#latest = this.#make(id)
    if (id !== undefined) {
      this.#completions.delete(id)
      this.#completions.set(id, this.#latest)
      dropOldest(this.#completions, MAX_COMPLETIONS)
    }
    this.#latest.turn.start(model, emit)
    return true
  }

  /** Whose a chunk with an id is; undefined where it begins one. Servers give ids again. */
  #named(id: string, chunk: Raw, found: Classified): Completion | undefined {
    const known = this.#completions.get(id)
    return known?.turn.ended && found.key !== 'finish_reason' && begins(chunk, found) ? undefined : known
  }

  /** Whose a chunk without an id is; undefined where it begins one that has no id. */
  #unnamed(chunk: Raw, found: Classified): Completion | undefined {
    const { turn } = this.#latest
    const isFree = !turn.begun || (turn.ended && turn.response === undefined)
    return isFree && begins(chunk, found) ? undefined : this.#latest
  }

  #make(id: string | undefined): Completion {
    const turn = this.#turns.make(id)
    return { turn, choices: new Map(), calls: new RecentSet(MAX_CALLS), outcome: 'completed', usage: undefined }
  }
}

/** Whether a chunk may be the first of a completion. Usage comes with the role again when all is said. */
function begins(chunk: Raw, found: Classified): boolean {
  return spokenOf(choicesOf(chunk)) !== undefined || (found.class === 'turn-start' && chunk.usage == null)
}

/** Keeps what a chunk says of a choice. The worst end of the choices is the turn's. */
function note(completion: Completion, choice: unknown): void {
  if (!isRaw(choice)) return
  const { choices } = completion
  const index = choice.index ?? 0
  const reason = finishReasonOf(choice)
  if (reason !== undefined || !choices.has(index)) {
    choices.set(index, reason !== undefined)
    dropOldest(choices, MAX_CHOICES)
  }
  if (reason === 'error') completion.outcome = 'error'
  else if (completion.outcome === 'completed' && (reason === 'length' || reason === 'content_filter')) {
    completion.outcome = 'incomplete'
  }
}

/** A choice is over: the turn too, or it goes on with the others. */
function finish(completion: Completion, chunk: Raw, emit: Emit): void {
  const { turn, choices } = completion
  if ([...choices.values()].every((over) => over)) end(completion, chunk, emit)
  else emit(turn.thread, turn.of({ kind: 'progress', what: 'finish_reason' }))
}

function end({ turn, outcome, usage }: Completion, chunk: Raw, emit: Emit): void {
  if (outcome === 'error') turn.fail(errorMessage(chunk), openaiUsage(usage), emit)
  else turn.end(outcome, openaiUsage(usage), emit)
}

function errorMessage(chunk: Raw): string {
  const failed = choicesOf(chunk).find((choice) => isRaw(choice) && choice.error != null)
  const error = chunk.error ?? (isRaw(failed) ? failed.error : undefined)
  const { message, code } = isRaw(error) ? error : {}
  return text(error) ?? text(message) ?? text(code) ?? 'the API reported an error'
}
