/** What the chunks of a stream say of it: decoded where they are text, and classified as the watchdog needs it. */

import { type Classified, idsOf, isRaw, type Raw, text } from '../../instrumentation/sources/classifier.ts'
import { choicesOf, finishReasonOf } from '../../instrumentation/sources/openai-chat-classes.ts'
import { isKeepAlive, type SourceName } from '../../instrumentation/sources/source.ts'
import { isSentinel, wireOf } from '../../instrumentation/sources/wires.ts'
import { isText, JsonEvents, type TextFormat } from '../../instrumentation/taps/json-events.ts'
import { failureOf, type StreamFailedError } from './failed-error.ts'
import { harmless } from './harmless.ts'
import type { StreamEventClass, StreamState } from './stream-state.ts'

/** What an event of a type that nobody knows counts as. */
export const UNKNOWN_POLICIES = ['neutral', 'content'] as const
export type UnknownPolicy = (typeof UNKNOWN_POLICIES)[number]

export interface EventRules {
  /** The wire format of the stream. Without it, and without `classify`, every event and every chunk is content. */
  readonly source?: SourceName | undefined
  /** The class of an event, before the source is asked; undefined leaves it to that. */
  readonly classify?: ((event: never) => unknown) | undefined
  readonly unknown: UnknownPolicy
  readonly pauseDuringTools: boolean
}

/** Wires whose tools run at the provider, which has to stream meanwhile (requirement DEV-723): they stop no clock. */
const HOSTED_TOOLS: ReadonlySet<SourceName | undefined> = new Set<SourceName>([
  'openai-responses',
  'openrouter-responses',
  'anthropic-messages',
])

/** Wires that speak the same language: gateways send events of either under the name of one. */
const SISTERS: Partial<Record<SourceName, SourceName>> = {
  'openai-responses': 'openrouter-responses',
  'openrouter-responses': 'openai-responses',
}

const MAX_TYPE_LENGTH = 200
/** Choices of a chat completion that are told apart. */
const MAX_CHOICES = 1000

export class StreamEvents {
  /** What the server said of a failure, until a completion follows. */
  failure: StreamFailedError | null = null
  /** Of text and bytes; without it, the first character tells. */
  format: TextFormat | null = null
  /** Whether chunks are text or bytes of events though no wire format is given: those of a Response. */
  isText = false
  /** Whether what comes is no events. */
  plain = false
  readonly #rules: EventRules
  readonly #state: StreamState
  #texts: JsonEvents | null = null
  /** Of a text that is neither of lines nor of events: each chunk is one. */
  #prose: InstanceType<typeof TextDecoder> | null = null
  /** Choices of a chat completion, and whether each is over. */
  readonly #choices = new Map<unknown, boolean>()
  /** Observed ms of what is read now. */
  #now = 0

  constructor(rules: EventRules, state: StreamState) {
    this.#rules = rules
    this.#state = state
  }

  /** Takes what a read gave. Never throws. */
  took(chunk: unknown, now: number): void {
    const { source, classify } = this.#rules
    this.#now = now
    if (this.plain) this.#state.took('neutral', null, now)
    else if (source === undefined && classify === undefined) this.#state.took('content', typeOf(chunk), now)
    else if (isText(chunk) && !this.#isEvent(chunk)) this.#tookText(chunk)
    else this.#tookEvent(chunk)
  }

  /** The text is over: its last event may lack its end. */
  ended(now: number): void {
    this.#now = now
    this.#texts?.end()
  }

  /** Whether text or bytes are no part of a stream of text, but an event of their own. */
  #isEvent(chunk: string | ArrayBufferView | ArrayBuffer): boolean {
    const { source } = this.#rules
    if (source === undefined) return !this.isText
    return typeof chunk === 'string' && this.#texts === null && !chunk.includes('\n') && isSentinel(source, chunk)
  }

  #tookText(chunk: string | ArrayBufferView | ArrayBuffer): void {
    const { deliveredEvents } = this.#state
    this.#state.alive(this.#now)
    this.#texts ??= new JsonEvents(this.format, {
      onEvent: (raw) => this.#tookEvent(raw),
      onSentinel: (line) => {
        const { source } = this.#rules
        if (source !== undefined && !line.startsWith(':') && isSentinel(source, line)) this.#tookEvent(line)
      },
      onNotJson: (text) => {
        if (text === undefined) this.#prose = new TextDecoder()
        else this.#tookEvent(text)
      },
      onTooLong: () => this.#state.took(this.#rules.unknown, null, this.#now),
    })
    if (this.#prose === null) this.#texts.push(chunk)
    if (this.#prose !== null) {
      this.#tookEvent(typeof chunk === 'string' ? chunk : this.#prose.decode(chunk as Uint8Array, { stream: true }))
    }
    // A long event comes in many chunks, and is not silence.
    if (this.#texts.pending && this.#state.deliveredEvents === deliveredEvents) this.#state.partly(this.#now)
  }

  #tookEvent(event: unknown): void {
    let is: StreamEventClass | undefined
    let found: Classified | null = null
    try {
      is = this.#byCaller(event)
      found = this.#bySource(event)
    } catch {
      // A hostile event may throw from any of its getters.
    }
    const type = found?.key ?? typeOf(event)
    if (found !== null) this.#note(event, found)
    is ??= found === null || found.key === null ? this.#unknown(type) : this.#classOf(event, found)
    if (is === 'content' && this.#state.terminal && this.#goesOn) this.#state.reopen()
    this.#state.took(is, type, this.#now)
  }

  /** Whether what ended was only one choice of several, or failed and may be tried again by the server. */
  get #goesOn(): boolean {
    return this.#choices.size > 0 || this.failure !== null
  }

  #byCaller(event: unknown): StreamEventClass | undefined {
    let is: unknown
    // A broken classifier knows nothing of the event.
    harmless(() => {
      is = this.#rules.classify?.(event as never)
      return is
    })
    return is === 'content' || is === 'neutral' || is === 'terminal' ? is : undefined
  }

  #bySource(event: unknown): Classified | null {
    const { source } = this.#rules
    if (source === undefined || !(isRaw(event) || isSentinel(source, event))) return null
    const found = wireOf(source).classifier.classify(event)
    if (found.key !== null || !isRaw(event)) return found
    const sister = SISTERS[source]
    return sister === undefined ? found : wireOf(sister).classifier.classify(event)
  }

  /** A name that says keep-alive is known well enough: it is no content under any policy. */
  #unknown(type: string | null): StreamEventClass {
    return type !== null && isKeepAlive(type) ? 'neutral' : this.#rules.unknown
  }

  #classOf(event: unknown, { class: is }: Classified): StreamEventClass {
    switch (is) {
      case 'content':
      case 'tool-end':
      case 'wait-end':
        return 'content'
      case 'neutral':
      case 'turn-start':
      case 'tool-start':
      case 'wait-start':
        return 'neutral'
      case 'terminal-ok':
      case 'terminal-error':
        return this.#allChoicesOver(event) ? 'terminal' : 'content'
      default:
        return is satisfies never
    }
  }

  /** Keeps what the event says beside its class: failures and completions, tools that run. */
  #note(event: unknown, found: Classified): void {
    if (this.#rules.source === 'openai-chat-chunk' && isRaw(event)) this.#noteChoices(event)
    if (found.class === 'terminal-error') this.failure = failureOf(event)
    // `[DONE]` is said after failures too.
    else if (found.class === 'terminal-ok' && isRaw(event) && found.outcome !== 'aborted') this.failure = null
    if (!HOSTED_TOOLS.has(this.#rules.source) && isRaw(event) && event.providerExecuted !== true) {
      this.#noteTools(event, found)
    }
  }

  /** Keeps which tools run on this side, and which waits. */
  #noteTools(event: Raw, found: Classified): void {
    if (found.class === 'tool-start') this.#state.acted = true
    else if (found.class === 'turn-start') this.#state.turnStarted(this.#now)
    if (!this.#rules.pauseDuringTools) return
    for (const id of idsOf(event, found.id)) {
      if (found.class === 'tool-start') this.#state.toolOpened(id, this.#now)
      else if (found.class === 'wait-start') this.#state.waitOpened(id, this.#now)
      else if (found.class === 'tool-end') this.#state.toolClosed(id, this.#now)
      else if (found.class === 'wait-end') this.#state.waitClosed(id, this.#now)
    }
  }

  /** A chat completion of several choices is over when all that were seen are. */
  #allChoicesOver(event: unknown): boolean {
    if (this.#rules.source !== 'openai-chat-chunk' || !isRaw(event) || event.error != null) return true
    for (const over of this.#choices.values()) if (!over) return false
    return true
  }

  #noteChoices(event: Raw): void {
    for (const choice of choicesOf(event)) {
      if (!isRaw(choice) || this.#choices.size >= MAX_CHOICES) continue
      const index = choice.index ?? 0
      this.#choices.set(index, this.#choices.get(index) === true || finishReasonOf(choice) !== undefined)
    }
  }
}

function typeOf(event: unknown): string | null {
  try {
    const type = isRaw(event) ? (text(event.type) ?? text(event.method) ?? text(event.object)) : undefined
    return type?.slice(0, MAX_TYPE_LENGTH) ?? null
  } catch {
    return null
  }
}
