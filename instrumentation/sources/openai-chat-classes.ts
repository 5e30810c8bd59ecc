/**
 * The class of a chat completion chunk. Chunks have no type, so that their keys are made up here; of several that match,
 * the strongest counts: an error, an end, content, a role, usage. Stateless.
 */

import { type Classified, isNonEmpty, isRaw, type Raw, text } from './classifier.ts'
import { either } from './openai-fields.ts'
import type { RecentSet } from './source.ts'

const ERROR: Classified = { key: 'error', class: 'terminal-error', kind: 'lifecycle', outcome: 'error' }
const FINISHED: Classified = { key: 'finish_reason', class: 'terminal-ok', kind: 'lifecycle', outcome: 'completed' }
const CUT_SHORT: Classified = { ...FINISHED, outcome: 'incomplete' }
const FAILED: Classified = { ...FINISHED, class: 'terminal-error', outcome: 'error' }
const ROLE: Classified = { key: 'delta.role', class: 'turn-start', kind: 'shell' }
const USAGE: Classified = { key: 'usage', class: 'neutral', kind: 'usage' }
const DONE: Classified = { key: '[DONE]', class: 'terminal-ok', kind: 'lifecycle', outcome: 'completed' }
const COMMENT: Classified = { key: 'comment', class: 'neutral', kind: 'heartbeat', heartbeat: true }
const EMPTY: Classified = { key: 'empty', class: 'neutral', kind: 'shell' }
const UNKNOWN_LINE: Classified = { key: null, class: 'neutral' }

const isThere = (value: unknown) => value != null

/** Fields of a delta that are content: on the wire, in SDKs, when they count, and when there is something in them. */
const CONTENT = [
  field('content', 'content', 'token', isNonEmpty),
  field('refusal', 'refusal', 'token', isNonEmpty),
  field('reasoning_content', 'reasoningContent', 'reasoning', isNonEmpty),
  field('reasoning', 'reasoning', 'reasoning', isNonEmpty),
  field('reasoning_details', 'reasoningDetails', 'reasoning', isNonEmpty, hasReasoning),
  field('tool_calls', 'toolCalls', 'tool-args', isNonEmpty, hasCalls),
  field('function_call', 'functionCall', 'tool-args', isThere, isCall),
  field('audio', 'audio', 'token', isThere, hasAudio),
]

/** What is there, and is more than a shell. `told` are the calls that were named before. */
type Says = (value: unknown, told: RecentSet | undefined) => boolean

function field(wire: string, sdk: string, kind: string, counts: (value: unknown) => boolean, says: Says = counts) {
  const is: Classified = Object.freeze({ key: `delta.${wire}`, class: 'content', kind } as const)
  return { wire, sdk, counts, says, is }
}

/** What a piece of reasoning is, and not what it says. */
const LABELS: ReadonlySet<string> = new Set(['type', 'id', 'format', 'index'])

function hasReasoning(details: unknown): boolean {
  const says = (detail: unknown) =>
    isRaw(detail) && Object.entries(detail).some(([name, value]) => !LABELS.has(name) && isNonEmpty(value))
  return Array.isArray(details) ? details.some(says) : isNonEmpty(details)
}

function hasCalls(calls: unknown, told: RecentSet | undefined): boolean {
  return Array.isArray(calls) ? calls.some((call) => isCall(call, told)) : isNonEmpty(calls)
}

/** Whether a call of a tool has arguments, or is named for the first time. */
function isCall(call: unknown, told: RecentSet | undefined): boolean {
  if (!isRaw(call)) return false
  const called = isRaw(call.function) ? call.function : isRaw(call.custom) ? call.custom : call
  if (isNonEmpty(called.arguments) || isNonEmpty(called.input)) return true
  const [id, name] = [text(call.id), text(called.name)]
  if (id === undefined && name === undefined) return false
  const key = JSON.stringify([id ?? call.index, name])
  if (told?.has(key)) return false
  told?.add(key)
  return true
}

function hasAudio(audio: unknown): boolean {
  return isRaw(audio) && (isNonEmpty(audio.data) || isNonEmpty(audio.transcript))
}

export const openaiChatChunkClassifier = {
  classify(raw: Raw | string): Classified {
    if (typeof raw === 'string') return raw === '[DONE]' ? DONE : raw.startsWith(':') ? COMMENT : UNKNOWN_LINE
    if (raw.error != null) return ERROR
    const choices = choicesOf(raw)
    return finish(choices) ?? contentOf(choices) ?? rest(raw, choices)
  },
}

/** The content of a chunk, whatever else it says; undefined where it has none. */
function contentOf(choices: readonly unknown[]): Classified | undefined {
  for (const { wire, sdk, counts, is } of CONTENT) {
    for (const choice of choices) {
      if (isRaw(choice) && isRaw(choice.delta) && counts(either(choice.delta, wire, sdk))) return is
    }
  }
  return undefined
}

/** The content of a chunk that the model said something with: what is empty is no token. */
export function spokenOf(choices: readonly unknown[], told?: RecentSet): Classified | undefined {
  for (const { wire, sdk, says, is } of CONTENT) {
    for (const choice of choices) {
      if (isRaw(choice) && isRaw(choice.delta) && says(either(choice.delta, wire, sdk), told)) return is
    }
  }
  return undefined
}

const NO_CHOICES: readonly unknown[] = []

export function choicesOf(chunk: Raw): readonly unknown[] {
  return Array.isArray(chunk.choices) ? chunk.choices : NO_CHOICES
}

/** Why a choice is over; undefined while it is not. */
export function finishReasonOf(choice: unknown): unknown {
  const reason = isRaw(choice) ? either(choice, 'finish_reason', 'finishReason') : undefined
  return isNonEmpty(reason) ? reason : undefined
}

/** Ends in a chunk: a failed choice before one that is cut short, and that before a whole one. */
function finish(choices: readonly unknown[]): Classified | undefined {
  let found: Classified | undefined
  for (const choice of choices) {
    const reason = finishReasonOf(choice)
    if (reason === 'error') return FAILED
    if (reason === 'length' || reason === 'content_filter') found = CUT_SHORT
    else if (reason !== undefined) found ??= FINISHED
  }
  return found
}

function rest(chunk: Raw, choices: readonly unknown[]): Classified {
  if (choices.some((choice) => isRaw(choice) && isRaw(choice.delta) && isNonEmpty(choice.delta.role))) return ROLE
  return chunk.usage == null ? EMPTY : USAGE
}
