/** Boots the server, plays turns of a child to it, and prints what came of them. Its state lies in the folder given. */

import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import {
  CommandId,
  type OrchestrationThreadShell,
  PrismLiveness,
  type ProviderRuntimeEvent,
  ThreadId,
  TurnId,
} from '@t3tools/contracts'
import * as Context from 'effect/Context'
import * as Deferred from 'effect/Deferred'
import * as Effect from 'effect/Effect'
import * as Layer from 'effect/Layer'
import * as Schema from 'effect/Schema'
import * as Stream from 'effect/Stream'
import { HttpRouter } from 'effect/unstable/http'
import { T3V1 } from 'turnwatch/hosts/t3'
import { pass, settle } from 'turnwatch-on-virtual-time'
import { deriveWorkLogEntries as mobileEntries } from './apps/mobile/src/lib/threadActivity.ts'
import { ServerConfig } from './apps/server/src/config.ts'
import { Projection } from './apps/server/src/orchestration/Layers/Projection.ts'
import { OrchestrationEngineService } from './apps/server/src/orchestration/Services/OrchestrationEngine.ts'
import { ProviderAdapter } from './apps/server/src/provider/Services/ProviderAdapter.ts'
import { ProviderService } from './apps/server/src/provider/Services/ProviderService.ts'
import { makeServerLayer } from './apps/server/src/server.ts'
import { ServerActivation } from './apps/server/src/serverActivation.ts'
import { deriveWorkLogEntries as webEntries } from './apps/web/src/session-logic.ts'

const [stateDir = '.'] = process.argv.slice(2)
const BOSS = ThreadId.make('boss')
const CHILD = ThreadId.make('sub.boss.one')
const RESTORED = ThreadId.make('sub.boss.two')

const activated = Deferred.makeUnsafe<void>()
type Inside = Projection | OrchestrationEngineService | ProviderAdapter | ProviderService
let inside: Context.Context<Inside> | undefined
const { handler, dispose } = HttpRouter.toWebHandler(
  Layer.effectDiscard(
    Effect.map(Effect.context<Inside>(), (context) => {
      inside = context
    }),
  ).pipe(
    Layer.provideMerge(makeServerLayer),
    Layer.provide(Layer.succeed(ServerConfig, { stateDir, providerEventLogPath: stateDir })),
    Layer.provide(Layer.succeed(ServerActivation, Deferred.await(activated))),
  ),
  { disableLogger: true },
)

async function ask(query: string, token?: string): Promise<[number, unknown]> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await handler(new Request(`http://t3/api/prism/liveness${query}`, { headers }))
  return [response.status, await response.json()]
}

const errors = [
  await ask(`?threadId=${CHILD}`),
  await ask(`?threadId=${CHILD}`, 'operator'),
  await ask('?threadId=%20', 'reader'),
]
if (inside === undefined) throw new Error('the server was not built')
const projection = Context.get(inside, Projection)
const engine = Context.get(inside, OrchestrationEngineService)
const provider = Context.get(inside, ProviderAdapter)

// A host that cannot swap the layer of the loggers has the canonical events alone.
const untapped = new T3V1()
const { streamEvents } = Context.get(inside, ProviderService)
Effect.runFork(Stream.runForEach(streamEvents, (event) => Effect.sync(() => untapped.canonical(event))))

const shell = (id: ThreadId, running?: string): OrchestrationThreadShell => ({
  id,
  title: 'a thread',
  modelSelection: { instanceId: 'codex', model: 'gpt-5' },
  runtimeMode: 'full-access',
  interactionMode: 'default',
  latestTurn: running === undefined ? null : { turnId: TurnId.make(running), state: 'running', startedAt: null },
  archivedAt: null,
  session: null,
  hasPendingApprovals: false,
  hasPendingUserInput: false,
})
projection.threads.set(BOSS, shell(BOSS))
projection.threads.set(CHILD, shell(CHILD))
projection.threads.set(RESTORED, shell(RESTORED, 'turn-of-before'))

let count = 0
/** An event of the provider, as its adapter has it from the wire and as it makes it canonical. */
async function receive(threadId: ThreadId, turn: string, method: string, type: string, payload: object): Promise<void> {
  const turnId = TurnId.make(turn)
  const createdAt = '2026-01-01T00:00:00.000Z'
  const event: ProviderRuntimeEvent = {
    eventId: `e${++count}`,
    provider: 'codex',
    threadId,
    turnId,
    createdAt,
    type,
    payload,
  }
  const native = { id: `n${count}`, kind: 'notification', provider: 'codex', threadId, createdAt, method, turnId }
  await Effect.runPromise(provider.receive(native, threadId, [event]))
  await settle()
}
async function start(threadId: ThreadId, turn: string): Promise<void> {
  provider.sessions.set(threadId, {
    provider: 'codex',
    threadId,
    status: 'running',
    activeTurnId: TurnId.make(turn),
  })
  await receive(threadId, turn, 'turn/started', 'turn.started', { model: 'gpt-5' })
}
const token = (threadId: ThreadId, turn: string) =>
  receive(threadId, turn, 'item/agentMessage/delta', 'content.delta', { streamKind: 'assistant_text', delta: 'a' })
const complete = (threadId: ThreadId, turn: string) =>
  receive(threadId, turn, 'turn/completed', 'turn.completed', { state: 'completed' })
const liveness = async (threadId: ThreadId) => {
  const [status, body] = await ask(`?threadId=${threadId}`, 'reader')
  return status === 200 ? Schema.decodeUnknownSync(PrismLiveness)(body) : status
}

const standby = await liveness(RESTORED)
await Effect.runPromise(Deferred.succeed(activated, undefined))
await settle()
const restored = await liveness(RESTORED)
await complete(RESTORED, 'turn-of-before')

await start(CHILD, 'turn-1')
await pass(4)
await token(CHILD, 'turn-1')
await pass(2)
await token(CHILD, 'turn-1')
const running = await liveness(CHILD)
const runningUntapped = untapped.watch?.liveness(CHILD)
await complete(CHILD, 'turn-1')

await start(CHILD, 'turn-2')
await token(CHILD, 'turn-2')
await pass(110)
const toldEarly = projection.commands.filter(({ threadId }) => threadId === BOSS).length
await pass(60)
const stale = await liveness(CHILD)

await start(CHILD, 'turn-3')
await token(CHILD, 'turn-3')
await pass(5)
await Effect.runPromise(
  engine.dispatch({ type: 'thread.turn.interrupt', commandId: CommandId.make('stop'), threadId: CHILD }),
)
await settle()
provider.sessions.delete(CHILD)
await pass(15)

const requested = await liveness(BOSS)
await dispose()

const db = new DatabaseSync(`${stateDir}/state.sqlite`, { readOnly: true })
const activities = db
  .prepare(`SELECT * FROM projection_thread_activities WHERE activity_id NOT LIKE 'before-%' ORDER BY rowid`)
  .all()
const entry = {
  id: 'a',
  tone: 'info',
  kind: 'prism.stream-stats',
  summary: '',
  payload: {},
  turnId: null,
  createdAt: '',
} as never
const outcome = {
  errors,
  standby,
  restored,
  running,
  runningUntapped,
  toldEarly,
  stale,
  requested,
  told: projection.commands.filter(({ type }) => type === 'thread.turn.start'),
  activities,
  hidden: [webEntries([entry]), mobileEntries([entry])],
  logged: ['native', 'canonical'].map((name) => {
    const lines = readFileSync(`${stateDir}/${name}.ndjson`, 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line).threadId)
  }),
}
process.stdout.write(`${JSON.stringify(outcome)}\n`)
