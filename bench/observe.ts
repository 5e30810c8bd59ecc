/** What an event costs: by handle, by thread id, and as a raw Claude Code event, beside what a host would call instead. */

import type { Clock } from '../detector/observed-clock.ts'
import { ClaudeCodeSource } from '../instrumentation/sources/claude-code.ts'
import { TOKEN } from '../instrumentation/sources/source.ts'
import { createTurnwatch, type TurnHandle, type Turnwatch } from '../turnwatch.ts'
import { flatId, identity } from './ids.ts'
import { bytesPerCall, nsPerCall } from './measure.ts'
import { openTelemetryRecord, promClientObserve, timeoutRearmed, timeoutRefreshed } from './peers.ts'
import { type Figure, heading, printFigures, printTable, times } from './report.ts'
import { Random } from './simulation/random.ts'

const LIVE_TURNS = 1e5
const SESSIONS = 1000
/** Less than from tick to tick, so that one round of three has none: a tick that is not compiled boxes a number a turn. */
const ALLOCATING_CALLS = 5e5
const BUDGET_NS = 60
const BUDGET_TIMES = 10

export async function benchObserve(): Promise<Figure[]> {
  heading(`One event, ${LIVE_TURNS.toLocaleString('en')} live turns`)
  const peers = [
    openTelemetryRecord(),
    promClientObserve(),
    timeoutRearmed(LIVE_TURNS),
    timeoutRefreshed(LIVE_TURNS),
    { name: 'performance.now alone', call: () => performance.now(), close: () => {} },
  ]
  const rows: { name: string; ns: number; bytes: number }[] = []
  for (const [name, make] of Object.entries(ours())) {
    const call = make()
    rows.push({ name, ns: await nsPerCall(call), bytes: bytesPerCall(call, ALLOCATING_CALLS) })
  }
  const beside: { name: string; ns: number }[] = []
  for (const { name, call, close } of peers) {
    beside.push({ name, ns: await nsPerCall(call) })
    close()
  }
  printTable(
    ['', 'ns', 'bytes', ...beside.map((peer) => peer.name)],
    [
      ['the peer itself, ns', '', '', ...beside.map((peer) => peer.ns.toFixed(0))],
      ...rows.map(({ name, ns, bytes }) => [
        name,
        ns.toFixed(0),
        bytes.toFixed(1),
        ...beside.map((peer) => times(peer.ns, ns)),
      ]),
    ],
  )
  const [handle] = rows as [(typeof rows)[number]]
  const openTelemetryNs = beside[0]?.ns ?? Number.NaN
  const stoppedNs = rows.at(-1)?.ns ?? Number.NaN
  const clockNs = beside.at(-1)?.ns ?? Number.NaN
  return [
    {
      what: 'observe a token by handle',
      budget: `<= ${BUDGET_NS} ns`,
      measured: `${handle.ns.toFixed(0)} ns, turns in random order ${(rows[1]?.ns ?? Number.NaN).toFixed(0)}`,
      peer: `reading the clock alone ${clockNs.toFixed(0)} ns, the rest ${stoppedNs.toFixed(0)} ns`,
      ok: handle.ns <= BUDGET_NS,
    },
    {
      what: 'allocated for it',
      budget: '0 bytes',
      measured: `${handle.bytes.toFixed(1)} bytes`,
      ok: handle.bytes < 0.5,
    },
    {
      what: 'against OpenTelemetry record',
      budget: `>= ${BUDGET_TIMES}x cheaper`,
      measured: times(openTelemetryNs, handle.ns),
      peer: `${openTelemetryNs.toFixed(0)} ns`,
      ok: openTelemetryNs / handle.ns >= BUDGET_TIMES,
    },
  ]
}

/** Each makes its watch when its turn comes: a second clock in the process makes reading the first one dearer. */
function ours(): Record<string, () => () => void> {
  return {
    'by handle': () => byHandle(...live()),
    'by handle, turns in random order': () => {
      const [watch, handles] = live()
      return byHandle(watch, shuffled(handles))
    },
    'by thread id': () => byThreadId(...live()),
    'raw Claude event, JSON parsed': () => rawEvent(live()[0]),
    'by handle, on a clock that stands still': () => byHandle(...live(STOPPED)),
  }
}

const STOPPED: Clock = { monoMs: () => 5000, wallMs: () => 5000, uptimeMs: () => null }

function live(clock?: Clock): [Turnwatch, TurnHandle[]] {
  const watch = createTurnwatch(clock ? { clock } : {})
  const handles = Array.from({ length: LIVE_TURNS }, (_, i) => watch.startTurn(identity(i)))
  return [watch, handles]
}

/** A second of observed time passes only if there are ticks; one in a million calls costs nothing. */
const TICK_EVERY = 2 ** 20

function byHandle(watch: Turnwatch, handles: readonly TurnHandle[]): () => void {
  let i = 0
  let calls = 0
  return () => {
    i = i + 1 === LIVE_TURNS ? 0 : i + 1
    ;(handles[i] as TurnHandle).observe(TOKEN.text)
    if (++calls % TICK_EVERY === 0) watch.tick()
  }
}

function byThreadId(watch: Turnwatch, handles: readonly TurnHandle[]): () => void {
  const ids = handles.map(({ threadId }) => threadId)
  let i = 0
  let calls = 0
  return () => {
    i = i + 1 === LIVE_TURNS ? 0 : i + 1
    watch.observe(ids[i] as string, TOKEN.text)
    if (++calls % TICK_EVERY === 0) watch.tick()
  }
}

/** A text delta as `claude --output-format stream-json` writes it, in one of many sessions with a source each. */
function rawEvent(watch: Turnwatch): () => void {
  const sessions = Array.from({ length: SESSIONS }, () => {
    const session_id = flatId()
    const source = new ClaudeCodeSource()
    source.read({ type: 'system', subtype: 'init', session_id, model: 'claude-opus-4-6' }, watch.observe)
    const delta = { type: 'text_delta', text: ' and then' }
    const event = { type: 'content_block_delta', index: 0, delta }
    return { source, raw: { type: 'stream_event', event, session_id, parent_tool_use_id: null, uuid: flatId() } }
  })
  let i = 0
  let calls = 0
  return () => {
    i = i + 1 === SESSIONS ? 0 : i + 1
    const { source, raw } = sessions[i] as (typeof sessions)[number]
    source.read(raw, watch.observe)
    if (++calls % TICK_EVERY === 0) watch.tick()
  }
}

function shuffled<T>(list: readonly T[]): T[] {
  const mixed = [...list]
  const random = new Random(1, 0)
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(random.uniform() * (i + 1))
    ;[mixed[i], mixed[j]] = [mixed[j] as T, mixed[i] as T]
  }
  return mixed
}

if (import.meta.main) printFigures(await benchObserve())
