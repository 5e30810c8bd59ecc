/**
 * A host in a process of its own, which embeds the package as any host does: turns that do what the test says, on a clock
 * that can sleep. The argument is its plan.
 */

import { type Clock, createTurnwatch, type TurnEvent, type TurnHandle } from '../../index.ts'
import { serveLiveness } from '../../liveness/index.ts'
import { webhookChannel } from '../../notifier/index.ts'
import type { HostPlan, Order, Said, TurnPlan } from './host-orders.ts'

const FIRST_TOKEN_MS = 120_000
const MID_STREAM_MS = 90_000
/** A dead turn is shown for longer than its alert needs. */
const LOST_AFTER_EXIT_MS = 360_000
const TICK_MS = 1000
const TOKEN_MS = 500

const { port, parentsUrl, pagerUrl, divisor } = JSON.parse(process.argv[2] ?? '') as HostPlan
const say = (said: Said) => process.send?.(said)

/** The monotonic clock stands still while the machine sleeps; that of Prometheus, which does not sleep, is the wall clock. */
let sleptMs = 0
const clock: Clock = {
  monoMs: () => performance.now(),
  wallMs: () => Date.now(),
  uptimeMs: () => performance.now() + sleptMs,
}
const watch = createTurnwatch({
  clock,
  thresholds: {
    firstTokenMs: FIRST_TOKEN_MS / divisor,
    midStreamMs: MID_STREAM_MS / divisor,
    afterToolMs: MID_STREAM_MS / divisor,
  },
  lostAfterExitMs: LOST_AFTER_EXIT_MS / divisor,
  notify: {
    channels: [
      webhookChannel({ name: 'parents', url: parentsUrl }),
      webhookChannel({ name: 'pager', url: pagerUrl, timeoutMs: 5000 }),
    ],
  },
  onError: () => {},
})
watch.on('stale', ({ threadId, silenceMs }) => say({ said: 'stale', thread: threadId, at: Date.now(), silenceMs }))
watch.on('turn-ended', ({ stats }) => say({ said: 'ended', thread: stats.threadId }))

const turns = new Map<string, TurnHandle>()
const streams = new Map<string, NodeJS.Timeout>()
let isTicking = true
setInterval(() => isTicking && watch.tick(), TICK_MS)

function observe(thread: string, event: TurnEvent): void {
  const turn = turns.get(thread)
  if (turn) turn.observe(event)
  else watch.observe(thread, event)
}

function start({ thread, provider, model, pid }: TurnPlan): void {
  turns.set(thread, watch.startTurn({ threadId: thread, provider, model, ...(pid === undefined ? {} : { pid }) }))
}

function hush(thread: string): void {
  clearInterval(streams.get(thread))
  streams.delete(thread)
}

function stream(thread: string): void {
  hush(thread)
  const speak = () => observe(thread, { kind: 'token', stream: 'text' })
  speak()
  streams.set(thread, setInterval(speak, TOKEN_MS))
}

/** What a turn of `work` does, a line each half a second. */
const DAY: readonly (readonly TurnEvent[])[] = [
  [{ kind: 'token', stream: 'reasoning' }],
  [{ kind: 'token', stream: 'text' }],
  [{ kind: 'side', what: 'ping' }],
  [
    { kind: 'token', stream: 'tool-args' },
    { kind: 'tool.started', id: 'tool', name: 'Bash' },
  ],
  [{ kind: 'progress', what: 'tool-output' }],
  [],
  [{ kind: 'tool.ended', id: 'tool' }],
  [{ kind: 'token', stream: 'text' }],
  [{ kind: 'wait.started', id: 'wait', reason: 'approval' }],
  [],
  [],
  [{ kind: 'wait.ended', id: 'wait' }],
  [],
  [{ kind: 'token', stream: 'text' }],
  [{ kind: 'token', stream: 'text' }],
  [
    {
      kind: 'turn.ended',
      outcome: 'completed',
      usage: {
        inputTokens: 40,
        outputTokens: 120,
        cacheReadTokens: 18_000,
        cacheWriteTokens: 900,
        cacheWriteByTtl: { '5m': 600, '1h': 200 },
      },
    },
  ],
]

function work({ thread, provider, model }: TurnPlan): void {
  let at = DAY.length
  setInterval(() => {
    if (at === DAY.length) {
      at = 0
      turns.set(thread, watch.startTurn({ threadId: thread, provider, model }))
      return
    }
    for (const event of DAY[at++] ?? []) observe(thread, event)
  }, TOKEN_MS)
}

function obey(order: Order): void {
  switch (order.do) {
    case 'start':
      return start(order)
    case 'stream':
      return stream(order.thread)
    case 'hush':
      return hush(order.thread)
    case 'observe':
      setTimeout(() => observe(order.thread, order.event), order.inMs ?? 0)
      return
    case 'work':
      return work(order)
    case 'tick':
      isTicking = order.on
      return
    case 'sleep':
      sleptMs += order.ms
      return
    case 'stumble':
      watch.unclassified('claude-stream-json', 'brand_new_event')
      watch.hostFault(new Error('a fault of the host'))
      return
    default:
      order satisfies never
  }
}

process.on('message', obey)
// The stage is gone.
process.on('disconnect', () => process.exit(0))
await serveLiveness(watch, { port })
say({ said: 'up' })
