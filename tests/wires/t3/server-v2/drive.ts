/** Boots the server, plays runs of a child to it, and prints what came of them. Its state lies in the folder given. */

import {
  MessageId,
  type OrchestrationV2AppThread,
  type OrchestrationV2Run,
  type OrchestrationV2RunAttempt,
  PrismLiveness,
  ProviderThreadId,
  ProviderTurnId,
  RunAttemptId,
  RunId,
  ThreadId,
} from '@t3tools/contracts'
import type * as Cause from 'effect/Cause'
import * as Context from 'effect/Context'
import * as DateTime from 'effect/DateTime'
import * as Deferred from 'effect/Deferred'
import * as Effect from 'effect/Effect'
import { HttpRouter } from 'effect/http'
import * as Layer from 'effect/Layer'
import * as Queue from 'effect/Queue'
import * as Schema from 'effect/Schema'
import * as Stream from 'effect/Stream'
import { T3V2 } from 'turnwatch/hosts/t3'
import { pass, settle } from 'turnwatch-on-virtual-time'
import { ServerConfig } from './apps/server/src/config.ts'
import { ProjectionTables } from './apps/server/src/orchestration-v2/ProjectionStore.ts'
import type { ProviderAdapterV2Event } from './apps/server/src/orchestration-v2/ProviderAdapter.ts'
import { ProviderEventIngestorV2 } from './apps/server/src/orchestration-v2/ProviderEventIngestor.ts'
import { RunExecutionServiceV2 } from './apps/server/src/orchestration-v2/RunExecutionService.ts'
import { accepted } from './apps/server/src/orchestration-v2/ThreadManagementService.ts'
import { makeServerLayer } from './apps/server/src/server.ts'
import { ServerActivation } from './apps/server/src/serverActivation.ts'

const [stateDir = '.'] = process.argv.slice(2)
const BOSS = ThreadId.make('boss')
const CHILD = ThreadId.make('child')
const RESTORED = ThreadId.make('restored')
const PROVIDER_THREAD = ProviderThreadId.make('provider-thread')

type Inside = ProjectionTables | ProviderEventIngestorV2 | RunExecutionServiceV2
const activated = Deferred.makeUnsafe<void>()
let inside: Context.Context<Inside> | undefined
const { handler, dispose } = HttpRouter.toWebHandler(
  Layer.effectDiscard(
    Effect.map(Effect.context<Inside>(), (context) => {
      inside = context
    }),
  ).pipe(
    Layer.provideMerge(makeServerLayer),
    Layer.provide(Layer.succeed(ServerConfig, { stateDir })),
    Layer.provide(Layer.succeed(ServerActivation, Deferred.await(activated))),
  ),
  { disableLogger: true },
)

async function ask(query: string, token?: string): Promise<[number, unknown]> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await handler(new Request(`http://t3/api/prism/liveness${query}`, { headers }))
  return [response.status, await response.json()]
}
const liveness = async (threadId: ThreadId) => {
  const [status, body] = await ask(`?threadId=${threadId}`, 'reader')
  return status === 200 ? Schema.decodeUnknownSync(PrismLiveness)(body) : status
}

const errors = [
  await ask(`?threadId=${CHILD}`),
  await ask(`?threadId=${CHILD}`, 'operator'),
  await ask('?threadId=%20', 'reader'),
]
if (inside === undefined) throw new Error('the server was not built')
const tables = Context.get(inside, ProjectionTables)
const ingestor = Context.get(inside, ProviderEventIngestorV2)
const execution = Context.get(inside, RunExecutionServiceV2)

const runOf = (threadId: ThreadId, ordinal: number, attempt: string): OrchestrationV2Run => ({
  id: RunId.make(`${threadId}-run-${ordinal}`),
  threadId,
  ordinal,
  modelSelection: { instanceId: 'codex', model: 'gpt-5' },
  activeAttemptId: RunAttemptId.make(attempt),
  status: 'running',
})
const attemptOf = (run: OrchestrationV2Run, attemptOrdinal: number, id: string): OrchestrationV2RunAttempt => ({
  id: RunAttemptId.make(id),
  runId: run.id,
  attemptOrdinal,
  providerThreadId: PROVIDER_THREAD,
  providerTurnId: null,
  status: 'running',
  startedAt: DateTime.makeUnsafe('2025-12-31T23:00:00.000Z'),
})
function put(id: ThreadId, parentThreadId: ThreadId | null, run?: OrchestrationV2Run): OrchestrationV2AppThread {
  const relationshipToParent = parentThreadId === null ? null : ('subagent' as const)
  const lineage = { parentThreadId, relationshipToParent }
  const thread = { id, title: 'a thread', lineage, archivedAt: null, deletedAt: null }
  tables.set(id, {
    thread,
    runs: run === undefined ? [] : [run],
    attempts: run === undefined ? [] : [attemptOf(run, 1, `${run.activeAttemptId}`)],
    providerThreads: [{ id: PROVIDER_THREAD, driver: 'codex', status: 'active' }],
    runtimeRequests: [],
  })
  return thread
}

/** Starts an attempt, as the orchestrator does; gives what takes the events of its provider. */
async function begin(run: OrchestrationV2Run, attemptOrdinal: number, attemptId: string) {
  const events = await Effect.runPromise(Queue.unbounded<ProviderAdapterV2Event, Cause.Done>())
  await Effect.runPromise(
    execution.startRootRun({
      appThread: put(CHILD, BOSS, run),
      session: { events: Stream.fromQueue(events) },
      run,
      providerThread: { id: PROVIDER_THREAD, driver: 'codex', status: 'active' },
      attempt: attemptOf(run, attemptOrdinal, attemptId),
    }),
  )
  const id = ProviderTurnId.make(`turn-of-${attemptId}`)
  const say = async (event: ProviderAdapterV2Event) => {
    await Effect.runPromise(Queue.offer(events, event))
    await settle()
  }
  await say(turnOf(attemptId, id))
  return {
    message: (text: string) => say(messageOf(run, text)),
    complete: () =>
      say({
        type: 'turn.terminal',
        driver: 'codex',
        providerThreadId: PROVIDER_THREAD,
        providerTurnId: id,
        status: 'completed',
      }),
    close: async () => {
      await Effect.runPromise(Queue.end(events))
      await settle()
    },
  }
}
const turnOf = (attemptId: string, id: ProviderTurnId): ProviderAdapterV2Event => ({
  type: 'provider_turn.updated',
  driver: 'codex',
  providerTurn: {
    id,
    providerThreadId: PROVIDER_THREAD,
    runAttemptId: RunAttemptId.make(attemptId),
    ordinal: 1,
    status: 'running',
  },
})
const messageOf = ({ threadId, id }: OrchestrationV2Run, text: string): ProviderAdapterV2Event => ({
  type: 'message.updated',
  driver: 'codex',
  message: { id: MessageId.make(`m-${id}`), threadId, runId: id, role: 'assistant', text },
})

// A host that does not touch the execution of runs: the provider's turns say which attempt runs.
const hookless = new T3V2()
const tapped = hookless.tapIngestor(ingestor, {
  tap: (ingested, look) => Effect.tap(ingested, look),
  noop: Effect.void,
})

put(BOSS, null)
const before = runOf(RESTORED, 1, 'attempt-of-before')
put(RESTORED, BOSS, before)
const standby = await liveness(RESTORED)
await Effect.runPromise(Deferred.succeed(activated, undefined))
await settle()
const restored = await liveness(RESTORED)
// It ends without a word: the projection knows.
put(RESTORED, BOSS, { ...before, status: 'completed' })

const first = runOf(CHILD, 1, 'a1')
const one = await begin(first, 1, 'a1')
await pass(4)
await one.message('A paragraph that is not whole')
const keptBack = await liveness(CHILD)
await pass(2)
await one.message('A paragraph that is not whole yet is.\n\n')
const running = await liveness(CHILD)
await one.complete()
const completed = await liveness(CHILD)

const second = runOf(CHILD, 2, 'a2')
const two = await begin(second, 1, 'a2')
await two.message('Some.\n\n')
await pass(50)
// What comes for an attempt that no longer runs is not stored.
const rejected = await Effect.runPromise(
  ingestor.ingestNormalized({
    threadId: CHILD,
    runId: second.id,
    event: messageOf(second, 'Some. And more.\n\n'),
    writeIfRunCurrent: { runId: second.id, activeAttemptId: RunAttemptId.make('a1') },
  }),
)
const afterRejected = await liveness(CHILD)
await pass(120)
const stale = await liveness(CHILD)

const third = runOf(ThreadId.make('hookless'), 1, 'h1')
put(third.threadId, null, third)
for (const event of [turnOf('h1', ProviderTurnId.make('t')), messageOf(third, 'Some.')]) {
  await Effect.runPromise(tapped.ingestNormalized({ threadId: third.threadId, runId: third.id, event }))
}
const withoutHooks = hookless.watch?.liveness(third.threadId)

const retry = { ...second, activeAttemptId: RunAttemptId.make('a3') }
const three = await begin(retry, 2, 'a3')
await pass(5)
await two.message('Some. And a late word.\n\n')
const afterLate = await liveness(CHILD)
await three.close()
const closed = await liveness(CHILD)
await pass(200)
await dispose()

const outcome = {
  errors,
  standby,
  restored,
  keptBack,
  running,
  completed,
  rejected,
  afterRejected,
  stale,
  withoutHooks,
  afterLate,
  closed,
  commands: accepted,
}
process.stdout.write(`${JSON.stringify(outcome)}\n`)
