/**
 * Whether the provider's session of a running turn still exists, and whether one still runs a turn that has ended. T3's
 * `listSessions` reads the database once a thread and fails as a whole, so it is asked only while a turn runs or has not
 * settled, one call at a time, and rests ten times as long as it took.
 */

import { isRaw } from '../../instrumentation/sources/classifier.ts'

/** T3's `ProviderSession`, as far as it is read. */
export interface T3Session {
  readonly threadId: string
  /** `connecting ready running error closed` */
  readonly status: string
  readonly model?: string | undefined
  readonly activeTurnId?: string | null | undefined
  readonly lastError?: string | null | undefined
}

/** A running turn, as the check sees it. */
export interface CheckedTurn {
  readonly threadId: string
  /** Monotonic ms from which a call may judge it. */
  readonly judgedFrom: number
  /** What the sessions last said of it, so that it is said once. */
  session: 'there' | 'gone' | 'failed'
}

export interface SessionCheckEnvironment {
  list(): Promise<readonly T3Session[]>
  monoMs(): number
  turns(): Iterable<CheckedTurn>
  gone(turn: CheckedTurn): void
  failed(turn: CheckedTurn, session: T3Session): void
  alive(turn: CheckedTurn, session: T3Session): void
  fault(error: unknown): void
}

const PAUSE_FACTOR = 10
const MIN_PAUSE_MS = 1000
/** A call that takes longer says nothing. */
const TIMEOUT_MS = 10_000

/** Of the sessions of one thread, the one that lives speaks for it. */
const RANKS = ['closed', 'error']

function bestOfThreads(sessions: readonly T3Session[]): Map<string, T3Session> {
  const best = new Map<string, T3Session>()
  const rank = ({ status }: T3Session) => (RANKS.includes(status) ? RANKS.indexOf(status) : RANKS.length)
  for (const session of sessions) {
    const other = best.get(session.threadId)
    if (other === undefined || rank(session) > rank(other)) best.set(session.threadId, session)
  }
  return best
}

/** An answer with anything else in it may lack sessions, too. */
function isAnswer(sessions: unknown): sessions is readonly T3Session[] {
  const isSession = (one: unknown) => isRaw(one) && typeof one.threadId === 'string' && typeof one.status === 'string'
  return Array.isArray(sessions) && sessions.every(isSession)
}

export class SessionCheck {
  /** Threads whose session runs a turn, by the last answer; none where that said nothing. */
  running: readonly string[] = []
  readonly #env: SessionCheckEnvironment
  /** Whether turns ran at the last call, so that their ends are still to be looked at. */
  #isOwed = false
  #askedAt: number | null = null
  #call = 0
  #notBefore = 0

  constructor(env: SessionCheckEnvironment) {
    this.#env = env
  }

  /** Asks if it is time to; call it once a second. */
  tick(): void {
    const now = this.#env.monoMs()
    if (this.#askedAt !== null) {
      if (now - this.#askedAt < TIMEOUT_MS) return
      this.#settle(now)
      this.running = []
    }
    if (now < this.#notBefore) return
    const asked = [...this.#env.turns()]
    if (asked.length === 0 && this.running.length === 0 && !this.#isOwed) return
    this.#isOwed = asked.length > 0
    const call = ++this.#call
    this.#askedAt = now
    // A host may answer with anything, at once too.
    Promise.resolve()
      .then(() => this.#env.list())
      .then(
        (sessions) => this.#answered(call, asked, now, sessions),
        (error: unknown) => this.#unknown(call, error),
      )
      .catch((error: unknown) => this.#env.fault(error))
  }

  #answered(call: number, asked: readonly CheckedTurn[], askedAt: number, sessions: readonly T3Session[]): void {
    // Too late: the time-out has taken it for unknown.
    if (call !== this.#call || this.#askedAt === null) return
    if (!isAnswer(sessions)) return this.#unknown(call, new TypeError('listSessions gave no list of sessions'))
    this.#settle(this.#env.monoMs())
    const byThread = bestOfThreads(sessions)
    this.running = sessions
      .filter(({ status, activeTurnId }) => status === 'running' && activeTurnId != null)
      .map((s) => s.threadId)
    const still = new Set(this.#env.turns())
    for (const turn of asked) {
      if (!still.has(turn) || turn.judgedFrom >= askedAt) continue
      const session = byThread.get(turn.threadId)
      const found =
        session === undefined || session.status === 'closed' ? 'gone' : session.status === 'error' ? 'failed' : 'there'
      if (session !== undefined && found === 'there') this.#env.alive(turn, session)
      if (found === turn.session) continue
      turn.session = found
      if (found === 'gone') this.#env.gone(turn)
      if (found === 'failed' && session !== undefined) this.#env.failed(turn, session)
    }
  }

  #unknown(call: number, error: unknown): void {
    if (call !== this.#call || this.#askedAt === null) return
    this.#settle(this.#env.monoMs())
    this.running = []
    this.#env.fault(error)
  }

  #settle(now: number): void {
    const tookMs = now - (this.#askedAt ?? now)
    this.#askedAt = null
    this.#notBefore = now + Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * tookMs)
  }
}
