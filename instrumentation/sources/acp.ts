/**
 * The Agent Client Protocol: JSON-RPC between a client and an agent, several sessions on one connection. Version 1 ends
 * a turn with the answer to its prompt, version 2 with a state of the session. `out` is what our client sent.
 */

import { dropOldest } from '../drop-oldest.ts'
import { UNKNOWN } from '../events.ts'
import { acpEvents } from './acp-events.ts'
import {
  answerKey,
  callOf,
  modelIn,
  outputStream,
  paramsOf,
  requestId,
  resultOf,
  toolStart,
  updateOf,
} from './acp-messages.ts'
import { AcpSession, type AcpSessionDefaults, AcpTurnIds } from './acp-session.ts'
import { AcpUnnamedEnds, type NamedEnd } from './acp-unnamed-ends.ts'
import { type Classified, Classifier, isRaw, type Raw, text } from './classifier.ts'
import { type Direction, type Emit, plainEvents, type Source, type SourceOptions, ThreadIds } from './source.ts'

const NAME = 'acp'

/** Answers name no method; the table has them by what they answer. */
class AcpClassifier extends Classifier {
  override classify(raw: Raw): Classified {
    const answer = text(raw.method) === undefined ? answerKey(raw) : undefined
    return super.classify(answer === undefined ? raw : { ...raw, method: answer })
  }
}

export const acpClassifier = new AcpClassifier(acpEvents, ['{method}:{params.update.sessionUpdate}', '{method}'])

/** Messages of a client: who sent them is plain, whatever direction the host says. */
const CLIENT_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'session/new',
  'session/load',
  'session/resume',
  'session/prompt',
  'session/cancel',
  'session/set_model',
  'session/set_config_option',
])

/** Requests that the agent answers when it has told the session's history again. */
const REPLAYS: ReadonlySet<string> = new Set(['session/load', 'session/resume'])

const MAX_REMEMBERED = 1000

/** A request of ours that the agent has not answered. */
interface Asking {
  readonly method: string
  readonly session: AcpSession | undefined
  readonly turn: string | undefined
  readonly model: string | undefined
}

/** A request of the agent that our side has not answered. */
interface Asked {
  readonly session: AcpSession
  readonly turn: string | undefined
  readonly end: 'tool.ended' | 'wait.ended'
  /** The tool call that it is about. */
  readonly call: string | undefined
}

export class AcpSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #defaults: AcpSessionDefaults
  readonly #threads: ThreadIds
  readonly #wallMs: () => number
  readonly #sessions = new Map<string, AcpSession>()
  readonly #turnIds: AcpTurnIds
  /** By request id, and those of the two sides are independent. */
  readonly #asking = new Map<string, Asking>()
  readonly #asked = new Map<string, Asked>()
  readonly #unnamedEnds = new AcpUnnamedEnds()
  #seesOurSide = false
  #isVersion2 = false

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#defaults = { provider: options.provider ?? NAME, model: options.model, parent: options.parent }
    this.#threads = new ThreadIds(options.thread)
    this.#wallMs = options.wallMs ?? Date.now
    this.#turnIds = new AcpTurnIds(this.#wallMs())
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw)) return
    const method = text(raw.method)
    const id = requestId(raw)
    if (method !== undefined) {
      if (direction === 'out' || CLIENT_METHODS.has(method)) this.#sent(method, id, raw, emit)
      else this.#received(method, raw, emit)
    } else if (id !== undefined) {
      if (direction === 'out') this.#weAnswered(id, emit)
      else this.#answered(id, raw, emit)
    }
  }

  #sent(method: string, id: string | undefined, raw: Raw, emit: Emit): void {
    this.#seesOurSide = true
    const params = paramsOf(raw)
    const session = this.#sessionOf(params)
    if (method === 'session/cancel') session?.interrupt(session.turn, emit)
    if (method === '$/cancel_request') {
      const asking = this.#asking.get(String(params.requestId))
      if (asking?.turn !== undefined) asking.session?.interrupt(asking.turn, emit)
    }
    if (id === undefined) return
    if (REPLAYS.has(method)) session?.replays.add(id)
    const turn = method === 'session/prompt' ? session?.prompted(id, this.#isVersion2, emit) : undefined
    remember(this.#asking, id, { method, session, turn, model: text(params.modelId) })
  }

  #weAnswered(id: string, emit: Emit): void {
    this.#seesOurSide = true
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    asked?.session.send({ kind: asked.end, id }, emit, asked.turn)
  }

  #answered(id: string, raw: Raw, emit: Emit): void {
    const asking = this.#asking.get(id)
    this.#asking.delete(id)
    if (asking === undefined) return this.#answeredUnseen(id, raw, emit)
    const { method, session, turn } = asking
    const result = resultOf(raw)
    session?.replays.delete(id)
    if (method === 'initialize') this.#isVersion2 = Number(result.protocolVersion) >= 2
    if (method === 'session/prompt') {
      if (session !== undefined && turn !== undefined) this.#answeredPrompt(session, turn, raw, emit)
      return
    }
    const about = session ?? this.#sessionOf(result)
    const chosen = method === 'session/set_model' && raw.error === undefined ? asking.model : undefined
    if (about !== undefined) about.model = chosen ?? modelIn(result) ?? about.model
  }

  #answeredPrompt(session: AcpSession, turn: string, raw: Raw, emit: Emit): void {
    const isFailed = isRaw(raw.error)
    if (session.awaits(turn)) {
      if (isFailed) session.refused(raw.error, emit)
      return
    }
    const { stopReason, messageId } = resultOf(raw)
    // In version 2 an answer says only that the prompt was taken or not; the session's state tells the rest.
    const isTaken = text(messageId) !== undefined && text(stopReason) === undefined
    if (isTaken || (isFailed && this.#isVersion2)) return
    session.end(turn, acpClassifier.classify(raw), raw.error, emit)
  }

  /** An answer to a request that we did not see: of a host that shows no directions, or the agent's side alone. */
  #answeredUnseen(id: string, raw: Raw, emit: Emit): void {
    const found = acpClassifier.classify(raw)
    if (found.key === 'response:client-request') return this.#weAnswered(id, emit)
    if (this.#seesOurSide || found.class === 'neutral') return
    const running = [...this.#sessions.values()].filter((session) => session.running)
    const [first, ...others] = running
    if (first !== undefined && others.length === 0) {
      this.#answerAll(first, undefined, emit)
      first.end(undefined, found, raw.error, emit)
      // Any request of ours may fail, but only a prompt ends for a reason.
    } else if (found.class === 'terminal-ok') this.#endAll(this.#unnamedEnds.add(found, running), emit)
  }

  /** A session goes on, with a tool call or, where none is given, with output. */
  #goesOn(session: AcpSession, call: string | undefined, emit: Emit): void {
    if (this.#seesOurSide) return
    this.#endAll(this.#unnamedEnds.isNot(session), emit)
    this.#answerAll(session, call, emit)
  }

  #endAll(ends: readonly NamedEnd[], emit: Emit): void {
    for (const { session, found } of ends) {
      this.#answerAll(session, undefined, emit)
      if (session.running) session.end(undefined, found, undefined, emit)
    }
  }

  /**
   * Where our side is not visible, what a session does shows that its requests were answered. A tool that runs beside a
   * question about another one says nothing of that question.
   */
  #answerAll(session: AcpSession, call: string | undefined, emit: Emit): void {
    for (const [id, asked] of this.#asked) {
      if (asked.session !== session) continue
      if (call !== undefined && asked.call !== undefined && asked.call !== call) continue
      this.#asked.delete(id)
      session.send({ kind: asked.end, id }, emit, asked.turn)
    }
  }

  #received(method: string, raw: Raw, emit: Emit): void {
    const params = paramsOf(raw)
    const session = this.#sessionOf(params) ?? this.#asking.get(String(params.requestId))?.session
    // What names no session speaks for no turn.
    if (session === undefined) return
    const update = updateOf(raw)
    const found = acpClassifier.classify(raw)
    const what = found.key ?? UNKNOWN
    session.model = modelIn(update) ?? session.model
    if (found.key === null) {
      const type = text(update.sessionUpdate)
      this.#options.onUnclassified?.(NAME, type === undefined ? method : `${method}:${type}`)
    }
    const isHistory = method === 'session/update' && session.replays.size > 0
    if (found.key === null || isHistory) session.send({ kind: 'side', what }, emit)
    else if (update.sessionUpdate === 'state_update') {
      this.#isVersion2 = true
      this.#state(session, update, found, emit)
    } else if (found.class === 'content') {
      const stream = outputStream(update, found)
      if (stream === undefined) return session.send({ kind: 'side', what }, emit)
      session.worked(emit)
      this.#goesOn(session, undefined, emit)
      emit(session.thread, session.tokens[stream])
    } else this.#other(session, update, raw, found, emit)
  }

  #other(session: AcpSession, update: Raw, raw: Raw, found: Classified, emit: Emit): void {
    const call = text(update.toolCallId)
    if (found.class === 'tool-start') session.worked(emit)
    const isCallAtWork = (found.class === 'tool-start' && update.status === 'in_progress') || found.class === 'tool-end'
    if (call !== undefined && isCallAtWork) this.#goesOn(session, call, emit)
    if (call !== undefined && found.class === 'wait-start') session.pause(call)
    else if (call !== undefined && found.class !== 'neutral') session.resume(call, emit)
    const id = found.id === 'id' ? requestId(raw) : undefined
    if (id !== undefined) {
      const end = found.class === 'tool-start' ? 'tool.ended' : 'wait.ended'
      remember(this.#asked, id, { session, turn: session.turn, end, call: callOf(paramsOf(raw)) })
    }
    for (const event of plainEvents(raw, found, this.#wallMs(), toolStart(update))) session.send(event, emit)
    if (update.sessionUpdate === 'subagent_update') this.#subAgent(session, update, emit)
  }

  /** What a session is doing. It may be told again when nothing has changed. */
  #state(session: AcpSession, state: Raw, found: Classified, emit: Emit): void {
    if (found.class === 'turn-start') session.begin(emit)
    else if (found.class === 'wait-start') session.block(emit)
    else if (found.class !== 'neutral' && session.running) {
      session.end(session.turn, stopped(state, found), state.error, emit)
    } else session.send({ kind: 'side', what: found.key ?? UNKNOWN }, emit)
  }

  /** A session that this one started. Its own events come on this connection too; what it is doing is told here. */
  #subAgent(parent: AcpSession, update: Raw, emit: Emit): void {
    const id = text(update.sessionId)
    if (id === undefined) return
    const child = this.#session(id)
    child.parent = parent.thread
    if (!isRaw(update.state)) return
    const state = { ...update.state, sessionUpdate: 'state_update' }
    this.#state(child, state, acpClassifier.classify({ method: 'session/update', params: { update: state } }), emit)
  }

  #sessionOf(named: Raw): AcpSession | undefined {
    const id = text(named.sessionId)
    return id === undefined ? undefined : this.#session(id)
  }

  #session(id: string): AcpSession {
    let session = this.#sessions.get(id)
    if (session === undefined) {
      session = new AcpSession(this.#threads.of(id), this.#defaults, this.#turnIds)
      remember(this.#sessions, id, session)
    }
    return session
  }
}

/** Keeps the last of them only. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  dropOldest(map, MAX_REMEMBERED)
}

/** A session that became idle gives the reasons that answers to prompts give. */
function stopped(state: Raw, found: Classified): Classified {
  const answer = acpClassifier.classify({ method: `response:session/prompt:${text(state.stopReason)}` })
  return answer.key === null ? found : answer
}
