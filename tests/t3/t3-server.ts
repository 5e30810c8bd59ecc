/**
 * A T3 server on a virtual clock: its adapters write events, its engine keeps receipts of commands, its projection knows
 * threads. The host under test is connected to it as it would be to the real one.
 */

import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import type { T3Loggers, T3Session, T3ThreadShell, T3V1Options } from '../../hosts/t3/index.ts'
import { T3V1 } from '../../hosts/t3/index.ts'

export const BOSS = 'boss'
export const CHILD = 'sub.boss.one'

export type Command = Parameters<Parameters<T3V1['connect']>[0]['dispatch']>[0]
export type StaleCommand = Extract<Command, { type: 'thread.turn.start' }>
export type StatsCommand = Extract<Command, { type: 'thread.activity.append' }>

/** A line of the story: what became of a turn of the child. */
export const turnIs = (second: number, what: string, turn = 'turn-1') => `${second} ${CHILD} ${turn} ${what}`
/** A line of the story: the parent is told of an episode of a turn of the child. */
export const bossIsTold = (second: number, turn = 'turn-1', episode = 1) =>
  `${second} ${BOSS} told ${CHILD}:${turn}:${episode}:0`

/** What T3's engine throws. */
class EngineError extends Error {
  readonly _tag: string

  constructor(tag: string) {
    super(tag)
    this._tag = tag
  }
}

export const settle = async () => {
  for (let turns = 0; turns < 6; turns++) await new Promise((resolve) => setImmediate(resolve))
}

/** T3's logger, whose effects are text. */
interface TextLogger {
  readonly filePath: string
  readonly write: (event: unknown, threadId: string | null) => string
  readonly close: () => string
}

export interface ServerOptions extends T3V1Options {
  readonly virtual?: VirtualHost
  /** Whether the loggers are tapped, or only canonical events come. @default true */
  readonly tapped?: boolean
}

export class T3Server {
  readonly virtual: VirtualHost
  readonly t3: T3V1
  readonly faults: string[] = []
  /** Every verdict and end: `<s> <thread> <turn> <what>`. */
  readonly log: string[] = []
  /** The same, and every message that the engine took: `<s> <parent> told <child>:<turn>:<episode>:<n>`. */
  readonly story: string[] = []
  readonly shells = new Map<string, T3ThreadShell>()
  readonly sessions = new Map<string, T3Session>()
  readonly dispatched: Command[] = []
  /** What the engine has kept of each command id. */
  readonly #receipts = new Map<string, 'accepted' | 'rejected'>()
  /** How `listSessions` answers. */
  listSessions: () => Promise<readonly T3Session[]> = async () => [...this.sessions.values()]
  listed = 0
  /** What goes wrong with a command before the engine sees it: a throw, or an answer that does not come. */
  trouble: (command: Command) => void | Promise<void> = () => {}
  /** How the projection answers. */
  getThreadShell: (threadId: string) => Promise<T3ThreadShell | null> = async (id) => this.shells.get(id) ?? null
  rows: unknown[] = []
  readonly written: { logger: string; event: unknown; threadId: string | null }[] = []
  readonly loggers: T3Loggers<TextLogger>
  #made = 0

  constructor({ virtual, tapped = true, ...options }: ServerOptions = {}) {
    this.virtual = virtual ?? new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
    this.t3 = new T3V1({
      enabled: true,
      clock: this.virtual.clock,
      timer: false,
      onError: (fault) => this.faults.push(fault.message),
      ...options,
    })
    const logger = (name: string): TextLogger => ({
      filePath: `/logs/${name}.ndjson`,
      write: (event: unknown, threadId: string | null) => {
        this.written.push({ logger: name, event, threadId })
        return 'effect'
      },
      close: () => 'effect',
    })
    const plain = { native: logger('native'), canonical: logger('canonical') }
    this.loggers = tapped ? this.t3.tapLoggers(plain, { noop: 'noop' }) : plain
    for (const name of ['suspect', 'stale', 'recovered'] as const) {
      this.t3.watch?.on(name, ({ threadId, turnId, reason }) => this.#note(threadId, turnId, `${name} ${reason}`))
    }
    this.t3.watch?.on('turn-ended', ({ stats, outcome }) => this.#note(stats.threadId, stats.turnId, outcome))
  }

  #note(threadId: string, turnId: string, what: string): void {
    const line = `${this.#second} ${threadId} ${turnId} ${what}`
    this.log.push(line)
    this.story.push(line)
  }

  get #second(): number {
    return Math.round(this.virtual.now / 1000)
  }

  /** Threads as they are at the start: a parent that is idle, and its child. */
  async up(): Promise<this> {
    if (!this.shells.has(BOSS)) this.thread(BOSS)
    if (!this.shells.has(CHILD)) this.thread(CHILD)
    await this.t3.connect({
      listSessions: () => {
        this.listed++
        return this.listSessions()
      },
      getThreadShell: (threadId) => this.getThreadShell(threadId),
      dispatch: async (command) => this.#dispatch(command),
      getShellSnapshot: async () => ({ threads: [...this.shells.values()] }),
      readStats: async () => this.rows,
    })
    return this
  }

  thread(id: string, fields: Partial<T3ThreadShell> = {}): void {
    const before = this.shells.get(id)
    this.shells.set(id, {
      runtimeMode: 'full-access',
      interactionMode: 'default',
      title: 'a thread',
      latestTurn: null,
      session: null,
      ...before,
      ...fields,
      id,
    })
  }

  async #dispatch(command: Command): Promise<{ sequence: number }> {
    await this.trouble(command)
    const receipt = this.#receipts.get(command.commandId)
    if (receipt === 'rejected') throw new EngineError('OrchestrationCommandPreviouslyRejectedError')
    if (receipt === 'accepted') return { sequence: 1 }
    if (!this.shells.has(command.threadId)) {
      this.#receipts.set(command.commandId, 'rejected')
      throw new EngineError('OrchestrationCommandInvariantError')
    }
    this.#receipts.set(command.commandId, 'accepted')
    this.dispatched.push(command)
    if (command.type === 'thread.turn.start') {
      const told = command.commandId.replace('server:prism-stale:', '')
      this.story.push(`${this.#second} ${command.threadId} told ${told}`)
    }
    return { sequence: 1 }
  }

  get told(): StaleCommand[] {
    return this.dispatched.filter((command) => command.type === 'thread.turn.start')
  }

  get recorded(): StatsCommand[] {
    return this.dispatched.filter((command) => command.type === 'thread.activity.append')
  }

  /** A canonical event, as ProviderService writes it. */
  canonical(
    type: string,
    payload: object = {},
    more: { turnId?: string | undefined; [name: string]: unknown } = {},
  ): void {
    const event = {
      eventId: `e${++this.#made}`,
      provider: 'codex',
      threadId: CHILD,
      turnId: 'turn-1',
      createdAt: '2026-01-01T00:00:00.000Z',
      type,
      payload,
      ...more,
    }
    if (this.loggers.canonical?.write(event, event.threadId) === undefined) this.t3.canonical(event)
    if (type === 'turn.started') this.#projects(event.threadId, event.turnId, 'running')
    if (type === 'turn.completed' || type === 'turn.aborted') this.#projects(event.threadId, event.turnId, 'completed')
  }

  /** A native event, as Codex' adapter writes it. */
  native(method: string, params: object = {}, threadId: string | null = CHILD): void {
    this.loggers.native?.write({ method, params: { threadId: 'codex-thread', turnId: 'turn-1', ...params } }, threadId)
  }

  /** A native event in an envelope of its adapter. */
  wrapped(event: object, threadId: string = CHILD): void {
    this.loggers.native?.write({ observedAt: '2026-01-01T00:00:00.000Z', event }, threadId)
  }

  /** A message of Claude, as its adapter writes it. */
  claude(method: string, message: object): void {
    const [, type, subtype] = method.split('/')
    const payload = { type, ...(subtype === undefined ? {} : { subtype }), session_id: 's', ...message }
    this.wrapped({ id: 'n', kind: 'notification', provider: 'claudeAgent', method, turnId: 'turn-1', payload })
  }

  /** A token, as both taps show it. */
  token(text = 'a', threadId: string = CHILD, turnId = 'turn-1'): void {
    this.native('item/agentMessage/delta', { itemId: 'm', delta: text, turnId }, threadId)
    this.canonical('content.delta', { streamKind: 'assistant_text', delta: text }, { threadId, turnId })
  }

  start(more: object = {}): void {
    this.sessions.set(CHILD, { threadId: CHILD, status: 'running', activeTurnId: 'turn-1' })
    this.canonical('turn.started', { model: 'gpt-5' }, { ...more })
  }

  /** A turn of the child that has begun and spoken: its threshold is reached at 91 s, its limit at 113.5 s. */
  get begun(): Record<number, () => void> {
    return { 0: () => this.start(), 1: () => this.token() }
  }

  complete(turnId = 'turn-1'): void {
    this.canonical('turn.completed', { state: 'completed' }, { turnId })
  }

  #projects(threadId: string, turnId: string | undefined, state: string): void {
    const latest = this.shells.get(threadId)?.latestTurn?.turnId
    if (turnId === undefined || (state !== 'running' && latest !== undefined && latest !== turnId)) return
    this.thread(threadId, { latestTurn: { turnId, state } })
  }

  get liveness() {
    const { watch } = this.t3
    if (watch === null) throw new Error('nothing is watched')
    return watch.liveness(CHILD)
  }

  /** Value of a counter or gauge, summed over the points that have these labels. */
  metric(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const family = this.t3.watch?.metrics().find((one) => one.name === `turnwatch_${name}`)
    if (family === undefined || family.type === 'histogram') throw new Error(`no counter or gauge ${name}`)
    const points = family.points.filter((point) =>
      Object.entries(labels).every(([key, is]) => point.labels[key] === is),
    )
    return points.reduce((sum, { value }) => sum + value, 0)
  }

  /** Does what is due at each second, lets time pass until `until`, and tells the story so far. */
  async play(acts: Readonly<Record<number, () => void>>, until: number): Promise<string[]> {
    for (const [second, act] of Object.entries(acts)) {
      await this.#passUntil(Number(second))
      act()
      await settle()
    }
    await this.#passUntil(until)
    return this.story
  }

  async #passUntil(second: number): Promise<void> {
    while (this.virtual.now < second * 1000) await this.pass(1)
  }

  /** Lets seconds pass, and promises settle in each. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      this.virtual.run(this.virtual.now + 1000, () => this.t3.tick())
      await settle()
    }
  }
}
