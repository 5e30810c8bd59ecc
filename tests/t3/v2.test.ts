import { describe, expect, it } from 'vitest'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import { type T3Attempt, T3V2, type T3V2Options, type T3V2Services } from '../../hosts/t3/index.ts'
import { settle } from './t3-server.ts'

const CHILD = 'child'
const attempt: T3Attempt = {
  threadId: CHILD,
  runId: 'run-1',
  runOrdinal: 1,
  attemptId: 'attempt-1',
  attemptOrdinal: 1,
  providerThreadId: 'provider-thread',
  provider: 'codex',
  model: 'gpt-5',
  parentThreadId: 'boss',
}
type Command = Parameters<T3V2Services['dispatch']>[0]

/** A T3 server of the second engine on a virtual clock. */
class Server {
  readonly virtual = new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
  readonly t3: T3V2
  readonly log: string[] = []
  readonly told: Command[] = []
  run = { status: 'running', activeAttemptId: 'attempt-1' as string | null, hasPendingRequests: false }
  thread: Awaited<ReturnType<T3V2Services['getThread']>> = { title: 'a thread' }
  readonly ingestor

  constructor(options: T3V2Options = {}) {
    this.t3 = new T3V2({ enabled: true, clock: this.virtual.clock, timer: false, onError: () => {}, ...options })
    const note = (threadId: string, turnId: string, what: string) =>
      this.log.push(`${Math.round(this.virtual.now / 1000)} ${threadId} ${turnId} ${what}`)
    for (const name of ['stale', 'recovered'] as const) {
      this.t3.watch?.on(name, ({ threadId, turnId, reason }) => note(threadId, turnId, `${name} ${reason}`))
    }
    this.t3.watch?.on('turn-ended', ({ stats, outcome }) => note(stats.threadId, stats.turnId, outcome))
    this.ingestor = this.t3.tapIngestor(
      { normalize: 'normalize', ingestNormalized: ({ stored }: { stored: unknown[] }) => ({ stored }) },
      {
        tap: (effect, look) => {
          look(effect.stored as never)
          return effect
        },
        noop: 'noop',
      },
    )
  }

  async up(services: Partial<T3V2Services> = {}): Promise<this> {
    await this.t3.connect({
      dispatch: async (command) => this.told.push(command),
      getRun: async () => this.run,
      getThread: async () => this.thread,
      ...services,
    })
    return this
  }

  /** Something that the ingestor has accepted. */
  event(type: string, fields: object, { stored = [{}] as unknown[], runId = 'run-1', threadId = CHILD } = {}): void {
    const input = {
      providerSessionId: 's',
      providerInstanceId: 'i',
      threadId,
      runId,
      event: { type, driver: 'codex', ...fields },
      stored,
    }
    this.ingestor.ingestNormalized(input)
  }

  turn(status = 'running', fields: object = {}): void {
    this.event('provider_turn.updated', {
      providerTurn: {
        id: 'turn-1',
        providerThreadId: 'provider-thread',
        runAttemptId: 'attempt-1',
        ordinal: 1,
        status,
        ...fields,
      },
    })
  }

  message(text: string, fields: object = {}): void {
    this.event('message.updated', {
      message: { id: 'm', threadId: CHILD, runId: 'run-1', role: 'assistant', text, ...fields },
    })
  }

  item(type: string, status: string, fields: object = {}): void {
    this.event('turn_item.updated', {
      turnItem: { id: 'i', type, status, threadId: CHILD, runId: 'run-1', providerTurnId: 'turn-1', ...fields },
    })
  }

  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      this.virtual.run(this.virtual.now + 1000, () => this.t3.tick())
      await settle()
    }
  }

  get liveness() {
    return this.t3.watch?.liveness(CHILD)
  }
}

const begun = async (options?: T3V2Options) => {
  const server = await new Server(options).up()
  server.t3.beginAttempt(attempt)
  server.turn()
  return server
}

describe('an attempt on the second engine', () => {
  it('is a turn from its begin to its terminal, with tokens where a text has grown', async () => {
    const server = await begun()
    expect(server.liveness).toMatchObject({
      state: 'running',
      phase: 'first-token',
      turn: { turnId: 'attempt-1', model: 'gpt-5' },
    })
    await server.pass(3)
    server.message('')
    server.message('Hello', { role: 'user' })
    expect(server.liveness?.phase).toBe('first-token')
    server.message('Hello')
    expect(server.liveness).toMatchObject({ phase: 'mid-stream', lastProgressAt: '2026-01-01T00:00:03.000Z' })
    await server.pass(2)
    server.message('Hello')
    expect(server.liveness?.progressSilenceMs).toBe(2000)
    server.event(
      'turn.terminal',
      { providerThreadId: 'provider-thread', providerTurnId: 'turn-1', status: 'completed' },
      { stored: [] },
    )
    expect(server.log).toEqual([`5 ${CHILD} attempt-1 completed`])
  })

  it('is told to the parent of its lineage, in a queue behind the turn that runs', async () => {
    const server = await begun()
    server.message('Hello')
    await server.pass(115)
    const commandId = `server:prism-stale:${CHILD}:attempt-1:1:0`
    expect(server.told).toEqual([
      {
        type: 'message.dispatch',
        commandId,
        threadId: 'boss',
        messageId: commandId,
        text: expect.stringContaining(CHILD),
        attachments: [],
        createdBy: 'system',
        creationSource: 'server',
        dispatchMode: { type: 'queue_after_active' },
      },
    ])
  })

  it('learns its parent from the lineage of the thread, where nobody says it', async () => {
    const server = await new Server().up()
    server.event('app_thread.created', {
      appThread: { id: CHILD, lineage: { parentThreadId: 'planner', relationshipToParent: 'subagent' } },
    })
    server.turn()
    expect(server.liveness).toMatchObject({
      parentThreadId: 'planner',
      turn: { turnId: 'attempt-1', provider: 'codex' },
    })
  })

  it('has open tools, waits and sub-agents by the status of their items', async () => {
    const server = await begun()
    server.item('command_execution', 'running', { title: 'npm test' })
    expect(server.liveness).toMatchObject({
      state: 'tool',
      openTool: { itemId: 'i', itemType: 'command_execution', title: 'npm test' },
    })
    await server.pass(300)
    server.item('command_execution', 'completed')
    expect(server.liveness).toMatchObject({ state: 'running', phase: 'after-tool' })
    server.event('runtime_request.updated', {
      runtimeRequest: { id: 'r', providerTurnId: 'turn-1', kind: 'user_input', status: 'pending' },
    })
    expect(server.liveness?.waiting).toMatchObject({ reason: 'input' })
    await server.pass(300)
    server.event('runtime_request.updated', {
      runtimeRequest: { id: 'r', providerTurnId: 'turn-1', kind: 'user_input', status: 'resolved' },
    })
    server.item('subagent', 'running')
    await server.pass(300)
    server.item('subagent', 'completed')
    expect(server.log).toEqual([])
    await server.pass(114)
    expect(server.log).toEqual([`1013 ${CHILD} attempt-1 stale silence`])
  })

  it('takes nothing that was not accepted, or that names another run, attempt, provider thread or turn', async () => {
    const server = await begun()
    await server.pass(10)
    server.event(
      'message.updated',
      { message: { id: 'm', threadId: CHILD, runId: 'run-1', role: 'assistant', text: 'x' } },
      { stored: [] },
    )
    server.message('x', { runId: 'run-0' })
    server.event(
      'message.updated',
      { message: { id: 'm', threadId: CHILD, runId: 'run-0', role: 'assistant', text: 'x' } },
      { runId: 'run-0' },
    )
    server.t3.ingested(
      {
        threadId: CHILD,
        runId: 'run-1',
        event: {
          type: 'message.updated',
          message: { id: 'm', threadId: CHILD, runId: 'run-1', role: 'assistant', text: 'x' },
        },
      },
      [{}],
      'attempt-0',
    )
    server.item('assistant_message', 'running', { text: 'x', providerTurnId: 'turn-0' })
    server.event('turn.terminal', { providerThreadId: 'other', providerTurnId: 'turn-1', status: 'completed' })
    server.event('turn.terminal', {
      providerThreadId: 'provider-thread',
      providerTurnId: 'turn-0',
      status: 'completed',
    })
    expect(server.liveness).toMatchObject({ phase: 'first-token', progressSilenceMs: 10_000 })
    expect(server.log).toEqual([])
  })

  it('is displaced by a newer one, never by an older one', async () => {
    const server = await begun()
    server.t3.beginAttempt({ ...attempt, attemptId: 'attempt-2', attemptOrdinal: 2 })
    server.t3.beginAttempt(attempt)
    server.t3.endAttempt(CHILD, 'run-1', 'attempt-1')
    expect(server.liveness?.turn?.turnId).toBe('attempt-2')
    server.t3.endAttempt(CHILD, 'run-1', 'attempt-2')
    expect(server.log).toEqual([`0 ${CHILD} attempt-1 aborted`, `0 ${CHILD} attempt-2 aborted`])
  })

  it('is not brought back by a late event of the one before', async () => {
    for (const hooked of [true, false]) {
      const server = await new Server().up()
      const next = { ...attempt, attemptId: 'attempt-2', attemptOrdinal: 2 }
      const turn = (id: string, attemptId: string) =>
        server.turn('running', { id, runAttemptId: attemptId, ordinal: 1 })
      if (hooked) server.t3.beginAttempt(attempt)
      turn('turn-1', 'attempt-1')
      if (hooked) server.t3.beginAttempt(next)
      turn('turn-2', 'attempt-2')
      turn('turn-1', 'attempt-1')
      expect(server.liveness?.turn?.turnId).toBe('attempt-2')
      server.message('Hello')
      expect(server.liveness?.phase).toBe('mid-stream')
    }
  })

  it('may have several provider turns, each a turn of its own, whose order never goes back', async () => {
    const server = await begun()
    server.turn('completed')
    server.turn('running', { id: 'turn-2', ordinal: 2 })
    server.turn('completed', { id: 'turn-1', ordinal: 1 })
    expect(server.liveness?.turn?.turnId).toBe('attempt-1/2')
    server.turn('failed', { id: 'turn-2', ordinal: 2 })
    expect(server.log).toEqual([
      `0 ${CHILD} attempt-1 completed`,
      `0 ${CHILD} attempt-1/2 stale provider-error`,
      `0 ${CHILD} attempt-1/2 error`,
    ])
  })
})

describe('a provider turn that fails', () => {
  it.each([
    [undefined, 1],
    [false, 0],
  ])('is told to the parent, unless the server does that by itself (tellErrors %s)', async (tellErrors, told) => {
    const server = await begun(tellErrors === undefined ? {} : { tellErrors })
    server.turn('failed')
    await server.pass(3)
    expect(server.log.map((line) => line.split(' ').at(-1))).toEqual(['provider-error', 'error'])
    expect(server.told).toHaveLength(told)
  })
})

describe('the projection of the second engine', () => {
  it.each([
    ['its run has ended', { status: 'completed' }, 'aborted'],
    ['another attempt is active', { activeAttemptId: 'attempt-9' }, 'aborted'],
    ['a request is pending', { hasPendingRequests: true }, null],
    ['its run waits', { status: 'waiting' }, null],
  ])('nobody is told when %s', async (_, run, end) => {
    const server = await begun()
    server.message('Hello')
    Object.assign(server.run, run)
    await server.pass(200)
    expect(server.log.map((line) => line.split(' ').at(-1))).toEqual(end === null ? [] : [end])
    expect(server.told).toEqual([])
  })

  it('nobody is told when the thread is archived or deleted', async () => {
    for (const gone of [{ archivedAt: 'yes' }, { deletedAt: 'yes' }]) {
      const server = await begun()
      server.thread = { title: null, ...gone }
      server.message('Hello')
      await server.pass(130)
      expect(server.told).toEqual([])
    }
  })
})

describe('a server of the second engine that starts again', () => {
  it('finds its running attempts and learns from its table', async () => {
    const rows = Array.from({ length: 25 }, (_, i) => ({
      run_id: `r${i}`,
      provider_turn_id: `t${i}`,
      thread_id: CHILD,
      provider: 'codex',
      model: 'gpt-5',
      outcome: 'completed',
      started_at: 1,
      ended_at: 2,
      time_to_first_token_ms: 100_000,
      max_gap_ms: 50_000,
      event_count: 9,
    }))
    const server = await new Server().up({
      readStats: async () => rows,
      runningAttempts: async () => [{ ...attempt, startedAt: Date.UTC(2025, 11, 31) }],
    })
    expect(server.liveness).toMatchObject({
      state: 'running',
      thresholdMs: 150_000,
      samples: 25,
      turn: { turnId: 'attempt-1', startedAt: '2025-12-31T00:00:00.000Z' },
    })
  })

  it('takes anything that comes without throwing', async () => {
    const server = await begun()
    for (const input of [
      null,
      7,
      {},
      { event: null },
      { threadId: 1, event: { type: 5 } },
      { threadId: CHILD, runId: 'run-1', event: { type: 'message.updated' } },
    ]) {
      server.t3.ingested(input, [{}])
    }
    server.t3.beginAttempt(null as never)
    server.t3.endAttempt(null as never, undefined as never, 7 as never)
    for (const type of ['constructor', '__proto__']) server.item(type, 'running')
    expect(server.liveness?.state).toBe('running')
  })
})
