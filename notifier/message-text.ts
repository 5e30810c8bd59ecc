/** The words of a message. They go to agents and to chat rooms, so nothing in them may be markup, an order, or a prompt. */

import type { Verdict } from '../detector/verdict.ts'
import { type Message, nameOr, parentToTell, type ToldVerdict } from './message.ts'

/** What a template may say. Every string is escaped and bounded; none holds text of a prompt or an answer. */
export interface MessageFacts extends Omit<Message, 'key' | 'lastEventAt' | 'lastEventKind' | 'text' | 'group'> {
  readonly preset: string
  /** Samples behind the threshold. */
  readonly samples: number
  /** ISO 8601; null before the first progress. */
  readonly lastProgressAt: string | null
  readonly lastProgressKind: string
  /** The tool or wait that was open when the provider failed; null when nothing was. */
  readonly open: string | null
  /** Status and type of the provider's error, as far as they are known ones. */
  readonly error: string | null
  /** False where it is known that no other supervisor has told the parent. */
  readonly perhapsToldAlready: boolean
}

/** Makes the text of a message. */
export type MessageTemplate = (facts: MessageFacts) => string

const MAX_VALUE = 200
const MAX_TEXT = 4000
/** Children that a grouped message names. */
const MAX_NAMED = 20

function factsOf(verdict: ToldVerdict, perhapsToldAlready: boolean): MessageFacts {
  const parent = parentToTell(verdict)
  return {
    verdict: verdict.verdict,
    thread: plainId(verdict.threadId),
    turn: plainId(verdict.turnId),
    parent: parent === null ? null : plainId(parent),
    provider: plainId(verdict.provider),
    model: verdict.model === null || verdict.model === '' ? null : plainId(verdict.model),
    reason: verdict.reason,
    phase: verdict.phase,
    preset: verdict.preset,
    silenceMs: verdict.silenceMs,
    thresholdMs: verdict.thresholdMs,
    thresholdSource: verdict.thresholdSource,
    samples: verdict.samples,
    lastProgressAt: verdict.lastProgressAt,
    lastProgressKind: nameOr(verdict.lastProgressKind, 'an event'),
    open: verdict.open === null ? null : nameOr(verdict.open, 'a tool'),
    error: verdict.errorMessage === null ? null : knownError(verdict.errorMessage),
    perhapsToldAlready,
  }
}

/** The text that the host's template makes; the default one where it throws, or makes no text. */
export function textOf(
  verdict: ToldVerdict,
  perhapsToldAlready: boolean,
  template: MessageTemplate | undefined,
  fault: (error: unknown) => void,
): string {
  const facts = factsOf(verdict, perhapsToldAlready)
  try {
    const text: unknown = template?.(facts)
    if (typeof text === 'string' && text.trim() !== '') return bounded(text)
    // A rejection that nobody hears of would end the host.
    if (text instanceof Promise) text.catch(() => {})
    if (template) fault(new TypeError('notify.text: made no text'))
  } catch (error) {
    fault(error)
  }
  return defaultText(facts)
}

function bounded(text: string): string {
  const plain = text.toWellFormed().replace(/[^\P{Cc}\n\t]+/gu, ' ')
  return plain.length > MAX_TEXT ? `${plain.slice(0, MAX_TEXT - 1).toWellFormed()}…` : plain
}

/** The template that is used unless the host gives another. */
function defaultText(facts: MessageFacts): string {
  const who = `${facts.parent === null ? 'Thread' : 'Child thread'} ${facts.thread} (${whoRuns(facts)})`
  if (facts.verdict === 'recovered') {
    return `${who} goes on after having been stale for ${seconds(facts.silenceMs)} (${facts.reason}).`
  }
  const progress =
    facts.lastProgressAt === null
      ? 'It has made no progress since its turn started.'
      : `Its last progress was ${facts.lastProgressKind} at ${facts.lastProgressAt}.`
  const advice =
    facts.reason === 'silence'
      ? 'Nothing was cancelled or retried. You may wait, because it can still go on, look at it, or stop it and start its work again.'
      : 'Nothing was cancelled or retried. You may look at it, or start its work again.'
  const perhaps = facts.perhapsToldAlready ? ' Another supervisor may have told you already.' : ''
  return `${who} ${whatHappened(facts)} ${progress} ${advice}${perhaps}`
}

function whoRuns({ provider, model }: Pick<MessageFacts, 'provider' | 'model'>): string {
  return model === null ? provider : `${provider}, ${model}`
}

function whatHappened(facts: MessageFacts): string {
  const source = facts.thresholdSource === 'measured' ? `measured from ${facts.samples} turns` : 'default'
  const limit = `threshold ${seconds(facts.thresholdMs)} ${source}, preset ${facts.preset}, ${facts.phase}`
  const before = facts.open === null ? '' : ` while ${facts.open} was open`
  // While a tool or wait is open nothing is judged, so there is no silence to speak of.
  const silent = facts.open === null ? `; silent for ${seconds(facts.silenceMs)}` : ''
  switch (facts.reason) {
    case 'silence':
      return `has stopped streaming: no progress for ${seconds(facts.silenceMs)} (reason silence; ${limit}).`
    case 'provider-dead':
      return `has lost its provider${before}: its process or session is gone (reason provider-dead; ${limit}${silent}).`
    case 'provider-error':
      return `was failed by its provider${before}: ${facts.error ?? 'a final error'} (reason provider-error; ${limit}${silent}).`
    default:
      return facts.reason satisfies never
  }
}

/** What a message that arrives late says besides. */
export function withSequel(text: string, resolution: 'recovered' | 'ended' | 'lost'): string {
  const sequel = resolution === 'recovered' ? 'It has gone on since.' : 'Its turn has ended since.'
  return `${text} ${sequel}`
}

/** One message for all of a group: the first with the names of the others. */
export function groupText(messages: readonly Message[]): string {
  const [first] = messages as readonly [Message, ...Message[]]
  const named = messages
    .slice(0, MAX_NAMED)
    .map((one) => `${plainId(one.thread)} (${one.reason}, silent for ${seconds(one.silenceMs)})`)
  const more = messages.length > MAX_NAMED ? ` and ${messages.length - MAX_NAMED} more` : ''
  return (
    `${messages.length} child threads on ${plainId(first.provider)} are stale: ${named.join(', ')}${more}. ` +
    'They may have one cause at the provider. Nothing was cancelled or retried. You may wait, look at them, or stop them and start their work again.'
  )
}

/** One line for a log beside the host's own: who is stale, why, since when, and by which limit. */
export function staleText(verdict: Verdict): string {
  const who = `${clean(verdict.threadId)} (${clean(verdict.provider)}${verdict.model ? ` ${clean(verdict.model)}` : ''})`
  const progress =
    verdict.lastProgressAt === null
      ? `no progress since the turn started`
      : `last progress ${verdict.lastProgressAt} (${clean(verdict.lastProgressKind)})`
  return `stale: ${who}: ${why(verdict)}; ${progress}`
}

function why(verdict: Verdict): string {
  const limit = `threshold ${seconds(verdict.thresholdMs)} ${verdict.thresholdSource}, ${verdict.preset}, ${verdict.phase}`
  const silent = `silent for ${seconds(verdict.silenceMs)}`
  // While a tool or wait is open nothing is judged, so there is no silence to speak of.
  const before = verdict.open ? `${clean(verdict.open)} was open` : silent
  switch (verdict.reason) {
    case 'silence':
      return `reason silence: ${silent} (${limit})`
    case 'provider-dead':
      return `reason provider-dead: its process or session is gone, ${before} (${limit})`
    case 'provider-error':
      return `reason provider-error: ${clean(verdict.errorMessage ?? 'the provider reported a final error')}, ${before} (${limit})`
    default:
      return verdict.reason satisfies never
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** Values come from the wire: no line breaks, control or invisible characters, and a bounded length. */
function clean(value: string): string {
  const plain = value.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]+/gu, ' ')
  return plain.length > MAX_VALUE ? `${plain.slice(0, MAX_VALUE - 1).toWellFormed()}…` : plain
}

/** An id as it is, or in quotes with everything escaped that a reader could take for more than a name. */
function plainId(id: string): string {
  const cleaned = clean(id)
  if (cleaned === id && /^[\p{L}\p{N}_.:/+[\]-]+$/u.test(id) && !id.includes('//')) return id
  const escaped = cleaned.replace(/[^\p{L}\p{N}\p{M} .:/+-]|(?<=\/)\//gu, escapeChar)
  return `"${escaped}"`
}

function escapeChar(char: string): string {
  return Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(
    '',
  )
}

/** Error texts may quote the prompt, so only what is known to be a status or a type is taken from them. */
function knownError(message: string): string | null {
  const words = message
    .slice(0, 2000)
    .match(
      /\b(?:[45]\d\d|(?:api|overloaded|rate_limit|invalid_request|authentication|permission|not_found|timeout|billing|server|service_unavailable)_error|request_too_large|insufficient_quota|context_length_exceeded|rate_limit_exceeded|usage_limit_reached|model_not_found|overloaded|timed out|stream disconnected|connection (?:reset|refused|closed)|ECONNRESET|ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EPIPE|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b/gi,
    )
  return words === null ? null : [...new Set(words)].slice(0, 4).join(' ')
}
