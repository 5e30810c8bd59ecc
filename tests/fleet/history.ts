/**
 * Eighty minutes of a fleet in which everything happens that the pack has a word for, lived on virtual clocks and
 * scraped every 15 s. The same samples can be given to more than one store.
 */

import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import type { TurnEvent } from '../../instrumentation/events.ts'
import { writeMetrics } from '../../liveness/metrics-text.ts'
import { createTurnwatch, type Turnwatch } from '../../turnwatch.ts'
import type { TurnwatchOptions } from '../../turnwatch-options.ts'

const MINUTE = 60_000
const SCRAPE_MS = 15_000
const LENGTH_MS = 80 * MINUTE
/** When it begins, epoch ms. */
export const BEGIN_MS = Date.parse('2026-03-12T08:00:00Z')

export interface Sample {
  /** Name and labels, as in the text of a scrape. */
  readonly series: string
  readonly value: string
  /** Epoch ms. */
  readonly at: number
}

const OPUS = { provider: 'claudeAgent', model: 'claude-opus-4-6' }
const CODEX = { provider: 'codex', model: 'gpt-5.2-codex' }
const OPEN = { provider: 'opencode', model: 'qwen' }
const HESITANT = { provider: 'opencode', model: 'hesitant' }
const SLOW = { provider: 'opencode', model: 'slow' }

const USAGE = { inputTokens: 900, outputTokens: 400, cacheReadTokens: 20_000, cacheWriteTokens: 1500 }

/** What happens on a host. */
interface Plan {
  readonly options?: TurnwatchOptions
  readonly happens: (host: PlannedHost) => void
  /** Minutes. Then it is gone, and its target with it. */
  readonly until?: number
  /** Minutes. Its process ends then, and the next one answers a minute later. */
  readonly restart?: number
  /** What its metrics say instead. */
  readonly lies?: (text: string) => string
  /** From this minute on its detector stands still. */
  readonly stopsTicking?: number
}

/** A host under way: a virtual machine, and the watch of the process that runs there now. */
class PlannedHost {
  readonly instance: string
  readonly plan: Plan
  readonly machine = new VirtualHost({ wallBaseMs: BEGIN_MS })
  watch: Turnwatch
  readonly #agenda: { due: number; act: () => void }[] = []

  constructor(instance: string, plan: Plan) {
    this.instance = instance
    this.plan = plan
    this.watch = this.#newWatch()
    plan.happens(this)
    this.machine.schedule(this.#agenda)
  }

  at(minute: number, act: () => void): void {
    this.#agenda.push({ due: minute * MINUTE, act })
  }

  event(minute: number, thread: string, event: TurnEvent): void {
    this.at(minute, () => this.watch.observe(thread, event))
  }

  /** A turn that has a token every `gapSeconds` after its first, until it ends, or falls silent without an outcome. */
  turn(
    thread: string,
    model: { provider: string; model: string },
    from: number,
    to: number,
    {
      gapSeconds = 4,
      firstSeconds = 5,
      outcome,
    }: { gapSeconds?: number; firstSeconds?: number; outcome?: 'completed' | 'error' } = {},
  ): void {
    this.event(from, thread, { kind: 'turn.started', turn: `${thread}/${from}`, ...model })
    this.speaks(thread, from + firstSeconds / 60, to, gapSeconds)
    if (outcome) this.event(to, thread, { kind: 'turn.ended', outcome, usage: USAGE })
  }

  /** Tokens of the turn that runs there. */
  speaks(thread: string, from: number, to: number, gapSeconds: number): void {
    for (let at = from; at < to; at += gapSeconds / 60) this.event(at, thread, { kind: 'token', stream: 'text' })
  }

  /** Its process has ended and the next one does not answer yet. */
  get isStarting(): boolean {
    const { restart = Number.NEGATIVE_INFINITY } = this.plan
    const minute = this.machine.now / MINUTE
    return minute >= restart && minute < restart + 1
  }

  runUntil(ms: number): void {
    const { restart, stopsTicking = Number.POSITIVE_INFINITY } = this.plan
    if (restart !== undefined && this.machine.now < restart * MINUTE && ms >= restart * MINUTE) {
      this.watch = this.#newWatch()
    }
    this.machine.run(ms, () => {
      if (this.machine.now < stopsTicking * MINUTE) this.watch.tick()
    })
  }

  #newWatch(): Turnwatch {
    return createTurnwatch({ ...this.plan.options, onError: () => {}, clock: this.machine.clock })
  }
}

/** Short turns one after the other, the whole time. */
function busy(host: PlannedHost, model: { provider: string; model: string }, everyMinutes: number): void {
  for (let from = 0.3, i = 0; from < 80; from += everyMinutes, i++) {
    const outcome = i % 9 === 8 ? 'error' : 'completed'
    host.turn(`${model.provider}-${i % 3}`, model, from, from + everyMinutes * 0.8, {
      gapSeconds: 2 + (i % 4),
      outcome,
    })
  }
}

const PLANS: Readonly<Record<string, Plan>> = {
  'well:9464': {
    happens: (host) => {
      busy(host, OPUS, 3)
      busy(host, CODEX, 2.3)
    },
  },
  'restarts:9464': { restart: 41, happens: (host) => busy(host, CODEX, 1.7) },
  'vanishes:9464': {
    until: 66,
    happens: (host) => {
      busy(host, OPUS, 2.1)
      host.turn('silent', OPUS, 50, 55)
      host.turn('talks', CODEX, 0.5, 80)
    },
  },
  'stalls:9464': {
    happens: (host) => {
      for (const i of [0, 1, 2, 3]) host.turn(`stuck-${i}`, OPEN, 30 + i, 35)
      for (const i of [0, 1, 2, 3, 4, 5]) {
        host.turn(`hesitates-${i}`, HESITANT, 10 + i, 12 + i)
        host.speaks(`hesitates-${i}`, 16 + i, 19 + i, 4)
        host.event(19 + i, `hesitates-${i}`, { kind: 'turn.ended', outcome: 'completed' })
        host.event(70 + i, 'fails', { kind: 'turn.started', turn: `f${i}`, ...OPEN })
        host.event(70.5 + i, 'fails', { kind: 'error', message: 'overloaded' })
      }
      for (let i = 0; i < 12; i++) {
        const outcome = i % 2 ? 'error' : 'completed'
        host.turn(`slow-${i}`, SLOW, 15 + 2 * i, 24 + 2 * i, { firstSeconds: 80, gapSeconds: 40, outcome })
      }
    },
  },
  'odd:9464': {
    options: {
      thresholds: { afterToolMs: 2_000_000 },
      notify: { channels: [() => Promise.reject(new Error('no'))], isManagedElsewhere: () => false },
      runningThreads: () => ['shown'],
    },
    stopsTicking: 74,
    lies: (text) =>
      text
        .replace('catalogue="1"', 'catalogue="0"')
        .replace(/^(turnwatch_thread_series_omitted) .*$/m, '$1 3')
        .replace(/^(turnwatch_thread_stale\{.*\}) 1$/gm, '$1 0'),
    happens: (host) => {
      busy(host, CODEX, 4)
      host.event(1, 'shown', { kind: 'turn.started', turn: 's', ...CODEX })
      host.event(2, 'shown', { kind: 'turn.ended', outcome: 'completed' })
      host.event(3, 'asked', { kind: 'turn.requested' })
      host.turn('parent', OPUS, 3, 75)
      host.event(4, 'stop', { kind: 'turn.started', turn: 's', ...OPUS })
      host.event(4.1, 'stop', { kind: 'tool.started', id: 'call' })
      host.event(5, 'stop', { kind: 'interrupt.requested' })
      host.event(6, 'asks', { kind: 'turn.started', turn: 'a', ...OPUS })
      host.event(6.1, 'asks', { kind: 'wait.started', id: 'w', reason: 'approval' })
      host.turn('sub.parent.child', CODEX, 20, 22)
      host.at(30, () => host.watch.unclassified('codex-exec', 'item.dreamt'))
      host.at(55, () => host.watch.unclassified('codex-exec', 'item.dreamt'))
      host.at(50, () => host.machine.sleep(51.5 * MINUTE, true))
    },
  },
  'quiet:9464': {
    options: { thresholds: { midStreamMs: 3_000_000 } },
    happens: (host) => host.turn('waits', CODEX, 1, 20),
  },
}

/** Every sample, in the order of time. */
export async function fleetHistory(): Promise<Sample[]> {
  const hosts = Object.entries(PLANS).map(([instance, plan]) => new PlannedHost(instance, plan))
  const samples: Sample[] = []
  for (let at = SCRAPE_MS; at <= LENGTH_MS; at += SCRAPE_MS) {
    for (const [i, host] of hosts.entries()) {
      // Prometheus spreads its targets over the interval.
      const now = at + i * 1700
      host.runUntil(now)
      if (now > (host.plan.until ?? Number.POSITIVE_INFINITY) * MINUTE) continue
      const target = `job="turnwatch",instance="${host.instance}"`
      const add = (series: string, value: string) => samples.push({ series, value, at: BEGIN_MS + now })
      const up = !host.isStarting
      add(`up{${target}}`, up ? '1' : '0')
      if (up) for (const [series, value] of await scraped(host, target)) add(series, value)
    }
  }
  return samples
}

async function scraped(host: PlannedHost, target: string): Promise<[string, string][]> {
  const { text } = await writeMetrics(host.watch.metrics(), false)
  const told = host.plan.lies?.(text) ?? text
  return told.split('\n').flatMap((line): [string, string][] => {
    if (line === '' || line.startsWith('#')) return []
    const space = line.lastIndexOf(' ')
    const [name, labels = '}'] = line.slice(0, space).split(/\{(.*)/s) as [string, string?]
    return [[`${name}{${target}${labels === '}' ? '}' : `,${labels}`}`, line.slice(space + 1)]]
  })
}
