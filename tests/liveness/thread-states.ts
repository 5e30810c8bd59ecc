/** Every state that a thread can be in: how it comes to it, and what v1b's fields say there. */

import { OUTCOMES, WAIT_REASONS } from '../../instrumentation/events.ts'
import type { ThreadState } from '../../liveness/prism.ts'
import {
  attempt,
  completed,
  exit,
  failure,
  healthyRecords,
  progress,
  side,
  started,
  THREAD,
  token,
  toolEnds,
  toolStarts,
  type WatchedHost,
  type WatchedHostOptions,
  waitStarts,
} from '../detector/watched-host.ts'
import { iso, type V1bLiveness } from './v1b.ts'

export interface StateCase {
  readonly name: string
  readonly options?: WatchedHostOptions
  readonly plan?: (host: WatchedHost) => void
  /** Ms at which it is asked. */
  readonly at: number
  /** @default the thread of every event that names no other */
  readonly thread?: string
  readonly state: ThreadState
  /** Where the answer is not that of an unknown thread. */
  readonly answer: Partial<V1bLiveness>
}

const BASE = Date.UTC(2026, 0, 1)

/** What the host's wall clock shows at `ms`. */
export const at = (ms: number) => iso(BASE + ms)

/** The last event was at `last`, and it is `now`. */
const streamed = (last: number, now: number) => ({ lastStreamAt: at(last), silenceMs: now - last })

const turn = (eventCount: number, fields: Partial<NonNullable<V1bLiveness['turn']>> = {}): Partial<V1bLiveness> => ({
  turn: { turnId: 't', provider: 'codex', model: 'm', startedAt: at(0), eventCount, ...fields },
})

const MID_STREAM = { thresholdMs: 90_000 }

const stale = (reason: V1bLiveness['reason'], since: number): Partial<V1bLiveness> => ({
  stale: true,
  staleSince: at(since),
  reason,
})

const begins = (host: WatchedHost) => host.send(0, started({ turn: 't' }))
const streams = (host: WatchedHost) => begins(host).send(1000, token)

const running: StateCase[] = [
  {
    name: 'before the first token',
    plan: begins,
    at: 8000,
    state: 'running',
    answer: { ...streamed(0, 8000), ...turn(1) },
  },
  {
    name: 'mid-stream',
    plan: streams,
    at: 8000,
    state: 'running',
    answer: { ...streamed(1000, 8000), ...turn(2), ...MID_STREAM },
  },
  {
    name: 'after a tool',
    plan: (host) => streams(host).send(2000, toolStarts()).send(5000, toolEnds()),
    at: 8000,
    state: 'running',
    answer: { ...streamed(5000, 8000), ...turn(4), ...MID_STREAM },
  },
  {
    name: 'in a new attempt',
    plan: (host) => streams(host).send(2000, attempt),
    at: 8000,
    state: 'running',
    answer: { ...streamed(2000, 8000), ...turn(3) },
  },
  {
    name: 'silent but for side traffic',
    plan: (host) => streams(host).every(1000, 2000, 60_000, side),
    at: 60_500,
    state: 'running',
    answer: { ...streamed(60_000, 60_500), ...turn(61), ...MID_STREAM },
  },
  {
    name: 'asked to stop',
    plan: (host) => streams(host).send(2000, { kind: 'interrupt.requested' }),
    at: 8000,
    state: 'running',
    answer: { ...streamed(2000, 8000), ...turn(3), ...MID_STREAM },
  },
  {
    name: 'restored after a restart',
    plan: (host) =>
      host.send(1000, { kind: 'turn.restored', turn: 't', startedAt: BASE - 60_000, provider: 'codex', model: 'm' }),
    at: 8000,
    state: 'running',
    answer: { ...streamed(1000, 8000), ...turn(1, { startedAt: at(-60_000) }) },
  },
  {
    name: 'restored with a start that is no time',
    plan: (host) => host.send(0, { kind: 'turn.restored', turn: 't', startedAt: 1e300, provider: 'codex', model: 'm' }),
    at: 8000,
    state: 'running',
    answer: { ...streamed(0, 8000), ...turn(1, { startedAt: iso(0) }) },
  },
  {
    name: 'displacing the turn that ran before',
    plan: (host) => streams(host).send(5000, started({ turn: 'next', model: 'n' })),
    at: 8000,
    state: 'running',
    answer: { ...streamed(5000, 8000), ...turn(1, { turnId: 'next', model: 'n', startedAt: at(5000) }) },
  },
  {
    name: 'with late events of the turn before',
    plan: (host) =>
      streams(host)
        .send(5000, completed)
        .send(6000, started({ turn: 'next' }))
        .send(7000, { ...token, turn: 't' }),
    at: 8000,
    state: 'running',
    answer: { ...streamed(7000, 8000), ...turn(1, { turnId: 'next', startedAt: at(6000) }) },
  },
  {
    name: 'of a model that nobody names',
    plan: (host) => host.send(0, { kind: 'turn.started', turn: 't', provider: 'cursor' }),
    at: 8000,
    state: 'running',
    answer: { ...streamed(0, 8000), ...turn(1, { provider: 'cursor', model: null }) },
  },
  {
    name: 'of a turn that the host names by no id',
    plan: (host) => host.send(0, started()).send(1000, token),
    at: 8000,
    state: 'running',
    answer: { ...streamed(1000, 8000), ...turn(2, { turnId: null }), ...MID_STREAM },
  },
  {
    name: 'of a turn that the host starts without an id and the wire names later',
    plan: (host) =>
      host
        .at(0, () => host.watch.startTurn({ threadId: THREAD, provider: 'codex', model: 'm' }))
        .send(1000, { ...token, turn: 'wire' }),
    at: 8000,
    state: 'running',
    answer: { ...streamed(1000, 8000), ...turn(1, { turnId: 'wire' }), ...MID_STREAM },
  },
  {
    name: 'with a measured threshold',
    plan: (host) => {
      host.watch.learn(healthyRecords(20, 8000))
      streams(host)
    },
    at: 8000,
    state: 'running',
    answer: { ...streamed(1000, 8000), ...turn(2), thresholdMs: 12_000, thresholdSource: 'measured' },
  },
  {
    name: 'with a threshold that is switched off',
    options: { thresholds: { midStreamMs: Number.POSITIVE_INFINITY } },
    plan: streams,
    at: 3_600_000,
    state: 'running',
    answer: { ...streamed(1000, 3_600_000), ...turn(2), thresholdMs: Number.MAX_SAFE_INTEGER },
  },
  {
    name: 'after the machine slept with its monotonic clock',
    plan: (host) => streams(host).sleepAt(10_000, 3_600_000, 'mono-stops'),
    at: 3_620_000,
    state: 'running',
    answer: { ...streamed(1000, 3_620_000), ...turn(2), ...MID_STREAM },
  },
  {
    name: 'after the machine slept and its monotonic clock did not',
    plan: (host) => streams(host).sleepAt(10_000, 3_600_000, 'both-advance'),
    at: 3_620_000,
    state: 'running',
    answer: { ...streamed(1000, 3_620_000), ...turn(2), ...MID_STREAM },
  },
  {
    name: 'after the process was stopped for a while',
    plan: (host) => streams(host).blockAt(10_000, 20_000),
    at: 35_000,
    state: 'running',
    answer: { ...streamed(1000, 35_000), ...turn(2), ...MID_STREAM },
  },
  {
    name: 'after a step back of the wall clock',
    plan: (host) => streams(host).stepWallAt(5000, -60_000),
    at: 8000,
    state: 'running',
    answer: { now: at(-52_000), lastStreamAt: at(-59_000), silenceMs: 7000, ...turn(2), ...MID_STREAM },
  },
  {
    name: 'after a step forward of the wall clock',
    plan: (host) => streams(host).stepWallAt(5000, 3_600_000),
    at: 8000,
    state: 'running',
    answer: { now: at(3_608_000), lastStreamAt: at(3_601_000), silenceMs: 7000, ...turn(2), ...MID_STREAM },
  },
]

const NPM = { kind: 'tool.started', id: 'call', name: 'command_execution', title: 'npm test' } as const
const NPM_OPEN = { itemId: 'call', itemType: 'command_execution', title: 'npm test', startedAt: at(2000) }

const covered: StateCase[] = [
  {
    name: 'with an open tool that has a title',
    plan: (host) => streams(host).send(2000, NPM),
    at: 3_600_000,
    state: 'tool',
    answer: { ...streamed(2000, 3_600_000), ...turn(3), ...MID_STREAM, openTool: NPM_OPEN },
  },
  {
    name: 'with an open tool whose title the wire leaves empty',
    plan: (host) => streams(host).send(2000, { ...NPM, title: null }),
    at: 8000,
    state: 'tool',
    answer: { ...streamed(2000, 8000), ...turn(3), ...MID_STREAM, openTool: { ...NPM_OPEN, title: null } },
  },
  {
    name: 'with an open tool on a wire that knows no titles',
    plan: (host) => streams(host).send(2000, { kind: 'tool.started', id: 'call', name: 'Bash' }),
    at: 8000,
    state: 'tool',
    answer: {
      ...streamed(2000, 8000),
      ...turn(3),
      ...MID_STREAM,
      openTool: { ...NPM_OPEN, itemType: 'Bash', title: 'Bash' },
    },
  },
  {
    name: 'with an open tool that has no name',
    plan: (host) => streams(host).send(2000, toolStarts()),
    at: 8000,
    state: 'tool',
    answer: {
      ...streamed(2000, 8000),
      ...turn(3),
      ...MID_STREAM,
      openTool: { ...NPM_OPEN, itemType: 'tool', title: null },
    },
  },
  {
    name: 'with two open tools, of which the older shows',
    plan: (host) => streams(host).send(2000, NPM).send(3000, toolStarts('second')).send(4000, progress),
    at: 8000,
    state: 'tool',
    answer: { ...streamed(4000, 8000), ...turn(5), ...MID_STREAM, openTool: NPM_OPEN },
  },
  ...WAIT_REASONS.map(
    (reason): StateCase => ({
      name: `waiting for ${reason}`,
      plan: (host) => streams(host).send(2000, waitStarts(reason)),
      at: 3_600_000,
      state: 'waiting',
      answer: { ...streamed(2000, 3_600_000), ...turn(3), ...MID_STREAM },
    }),
  ),
]

const judged: StateCase[] = [
  {
    name: 'suspect',
    plan: streams,
    at: 100_000,
    state: 'suspect',
    answer: { ...streamed(1000, 100_000), ...turn(2), ...MID_STREAM },
  },
  {
    name: 'stale by silence before the first token',
    plan: begins,
    at: 200_000,
    state: 'stale',
    answer: { ...streamed(0, 200_000), ...turn(1), ...stale('silence', 151_000) },
  },
  {
    name: 'stale by silence mid-stream',
    plan: streams,
    at: 200_000,
    state: 'stale',
    answer: { ...streamed(1000, 200_000), ...turn(2), ...MID_STREAM, ...stale('silence', 114_000) },
  },
  {
    name: 'stale by a measured threshold',
    plan: (host) => {
      host.watch.learn(healthyRecords(20, 8000))
      streams(host)
    },
    at: 60_000,
    state: 'stale',
    answer: {
      ...streamed(1000, 60_000),
      ...turn(2),
      ...stale('silence', 17_000),
      thresholdMs: 12_000,
      thresholdSource: 'measured',
    },
  },
  {
    name: 'stale because the provider is gone',
    plan: (host) => streams(host).send(2000, exit),
    at: 8000,
    state: 'stale',
    answer: { ...streamed(2000, 8000), ...turn(3), ...MID_STREAM, ...stale('provider-dead', 2000) },
  },
  {
    name: 'stale because the provider failed',
    plan: (host) => streams(host).send(2000, failure),
    at: 8000,
    state: 'stale',
    answer: { ...streamed(2000, 8000), ...turn(3), ...MID_STREAM, ...stale('provider-error', 2000) },
  },
  {
    name: 'stale because the provider is gone while a tool is open',
    plan: (host) => streams(host).send(2000, NPM).send(3000, exit),
    at: 8000,
    state: 'stale',
    answer: {
      ...streamed(3000, 8000),
      ...turn(4),
      ...MID_STREAM,
      openTool: NPM_OPEN,
      ...stale('provider-dead', 3000),
    },
  },
  {
    name: 'stale because the provider failed while a tool is open',
    plan: (host) => streams(host).send(2000, NPM).send(3000, failure),
    at: 8000,
    state: 'stale',
    answer: {
      ...streamed(3000, 8000),
      ...turn(4),
      ...MID_STREAM,
      openTool: NPM_OPEN,
      ...stale('provider-error', 3000),
    },
  },
  {
    name: 'stale by silence, then for a stronger reason',
    plan: (host) => streams(host).send(150_000, exit),
    at: 160_000,
    state: 'stale',
    answer: { ...streamed(150_000, 160_000), ...turn(3), ...MID_STREAM, ...stale('provider-dead', 114_000) },
  },
  {
    name: 'recovered',
    plan: (host) => streams(host).send(200_000, token),
    at: 208_000,
    state: 'running',
    answer: { ...streamed(200_000, 208_000), ...turn(3), ...MID_STREAM },
  },
  {
    name: 'stale again',
    plan: (host) => streams(host).send(200_000, token),
    at: 400_000,
    state: 'stale',
    answer: { ...streamed(200_000, 400_000), ...turn(3), ...MID_STREAM, ...stale('silence', 313_000) },
  },
  {
    name: 'stale while the machine sleeps and after',
    plan: (host) => streams(host).sleepAt(120_000, 3_600_000),
    at: 3_730_000,
    state: 'stale',
    answer: { ...streamed(1000, 3_730_000), ...turn(2), ...MID_STREAM, ...stale('silence', 114_000) },
  },
]

const idle: StateCase[] = [
  { name: 'unknown', at: 8000, state: 'idle', answer: {} },
  {
    name: 'known by events that belong to no turn',
    plan: (host) => host.send(1000, side).send(2000, { ...side, turn: 'never started' }),
    at: 8000,
    state: 'idle',
    answer: streamed(2000, 8000),
  },
  {
    name: 'requested, with events that belong to no turn',
    plan: (host) => host.send(1000, { kind: 'turn.requested' }).send(2000, side),
    at: 8000,
    state: 'requested',
    answer: streamed(2000, 8000),
  },
  {
    name: 'requested and never started',
    plan: (host) => host.send(1000, { kind: 'turn.requested' }),
    at: 3_600_000,
    state: 'requested',
    answer: {},
  },
  ...OUTCOMES.map(
    (outcome): StateCase => ({
      name: `ended ${outcome}`,
      plan: (host) => streams(host).send(2000, NPM).send(5000, { kind: 'turn.ended', outcome }),
      at: 8000,
      state: 'ended',
      answer: streamed(5000, 8000),
    }),
  ),
  {
    name: 'ended after a measured threshold',
    plan: (host) => {
      host.watch.learn(healthyRecords(20, 8000))
      streams(host).send(5000, completed)
    },
    at: 8000,
    state: 'ended',
    answer: streamed(5000, 8000),
  },
  {
    name: 'ended while it was stale by silence',
    plan: (host) => streams(host).send(200_000, { kind: 'turn.ended', outcome: 'aborted' }),
    at: 208_000,
    state: 'ended',
    answer: streamed(200_000, 208_000),
  },
  {
    name: 'ended, with events that come after',
    plan: (host) => streams(host).send(5000, completed).send(6000, side),
    at: 8000,
    state: 'ended',
    answer: streamed(6000, 8000),
  },
  {
    name: 'ended, with events that come to its handle',
    plan: (host) => {
      const handle = host.watch.startTurn({ threadId: THREAD, turnId: 't', provider: 'codex', model: 'm' })
      host.at(5000, () => handle.observe(completed)).at(6000, () => handle.observe(token))
    },
    at: 8000,
    state: 'ended',
    answer: streamed(6000, 8000),
  },
  {
    name: 'ended and requested again',
    plan: (host) => streams(host).send(5000, completed).send(6000, { kind: 'turn.requested' }),
    at: 8000,
    state: 'requested',
    answer: streamed(5000, 8000),
  },
  {
    name: 'failed, and flagged',
    plan: (host) => streams(host).send(5000, failure, { kind: 'turn.ended', outcome: 'error' }),
    at: 3_600_000,
    state: 'ended',
    answer: { ...streamed(5000, 3_600_000), ...MID_STREAM, ...stale('provider-error', 5000) },
  },
  {
    name: 'failed, flagged and requested again',
    plan: (host) =>
      streams(host)
        .send(5000, failure, { kind: 'turn.ended', outcome: 'error' })
        .send(6000, { kind: 'turn.requested' }),
    at: 8000,
    state: 'requested',
    answer: { ...streamed(5000, 8000), ...MID_STREAM, ...stale('provider-error', 5000) },
  },
  {
    name: 'failed, until the next turn starts',
    plan: (host) =>
      streams(host)
        .send(5000, failure, { kind: 'turn.ended', outcome: 'error' })
        .send(6000, started({ turn: 'next' })),
    at: 8000,
    state: 'running',
    answer: { ...streamed(6000, 8000), ...turn(1, { turnId: 'next', startedAt: at(6000) }) },
  },
  {
    name: 'lost with its provider, and flagged',
    plan: (host) => streams(host).send(5000, exit),
    at: 200_000,
    state: 'ended',
    answer: { ...streamed(5000, 200_000), ...MID_STREAM, ...stale('provider-dead', 5000) },
  },
  {
    name: 'forgotten, because too many ended after it',
    options: { keepThreads: 1 },
    plan: (host) =>
      streams(host)
        .send(5000, failure, { kind: 'turn.ended', outcome: 'error' })
        .sendTo('other', 6000, started(), completed),
    at: 8000,
    state: 'idle',
    answer: {},
  },
  {
    name: 'forgotten, because it ended long ago',
    options: { keepThreadsMs: 60_000 },
    plan: (host) => streams(host).send(5000, completed),
    at: 70_000,
    state: 'idle',
    answer: {},
  },
  {
    name: 'named anew, under its old name',
    plan: (host) => streams(host).at(5000, () => host.watch.renameThread(THREAD, 'sub.boss.one')),
    at: 8000,
    state: 'idle',
    answer: {},
  },
  {
    name: 'named anew, under its new name',
    plan: (host) => streams(host).at(5000, () => host.watch.renameThread(THREAD, 'sub.boss.one')),
    at: 8000,
    thread: 'sub.boss.one',
    state: 'running',
    answer: { ...streamed(1000, 8000), ...turn(2), ...MID_STREAM },
  },
]

const STRANGE = ['__proto__', 'constructor', 'a&b=c?d#e/../f', '"}]\n\u0000\u202e', 'ünïcødé 🦀', '🦀'.repeat(2000)]

const strange: StateCase[] = [
  ...STRANGE.map(
    (thread): StateCase => ({
      name: `running, with the id ${JSON.stringify(thread.slice(0, 20))}`,
      plan: (host) => host.sendTo(thread, 0, started({ turn: thread, provider: thread, model: thread })),
      at: 8000,
      thread,
      state: 'running',
      answer: { ...streamed(0, 8000), ...turn(1, { turnId: thread, provider: thread, model: thread }) },
    }),
  ),
  {
    name: 'asked for with spaces around its id',
    plan: streams,
    at: 8000,
    thread: ` \t${THREAD}\n`,
    state: 'running',
    answer: { threadId: THREAD, ...streamed(1000, 8000), ...turn(2), ...MID_STREAM },
  },
]

export const THREAD_STATES: readonly StateCase[] = [...idle, ...running, ...covered, ...judged, ...strange]
