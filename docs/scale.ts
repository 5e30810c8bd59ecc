/**
 * What a fleet of hosts costs a store, in series and samples, counted on real watches on a virtual clock. Run
 * `node docs/scale.ts` to print the tables of docs/scale.md, with `--write` to put them there.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { VirtualHost } from '../hosts/replay/virtual-host.ts'
import type { TurnEvent } from '../instrumentation/events.ts'
import type { Family } from '../instrumentation/metrics/family.ts'
import { MAX_PAIRS, MAX_THREADS } from '../instrumentation/metrics/label-values.ts'
import type { PerThreadSeries } from '../instrumentation/metrics/measured.ts'
import { createTurnwatch, type Turnwatch } from '../turnwatch.ts'

/** Between two scrapes. */
const SCRAPE_SECONDS = 15
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The ordinary host of the tables. */
const PAIRS = 3
const THREADS = 10
const CHANNELS = 1
const TURNS_A_DAY = 1000
const TURNS_A_THREAD = 5
/** The hours of a day in which they run. */
const WORKING_HOURS = 10
/** How far back series stay in the memory of a Prometheus: its head is cut every 2 h and reaches back 3 h. */
const HEAD_HOURS = 3

/** Every series of these families by its name and labels: a histogram has one a bucket, a sum and a count. */
export function seriesOf(families: readonly Family[]): string[] {
  return families.flatMap((family) =>
    family.type === 'histogram'
      ? family.points.flatMap(({ labels, bounds }) => {
          const id = JSON.stringify(labels)
          return [...bounds, '+Inf', 'sum', 'count'].map((part) => `${family.name}${id}${part}`)
        })
      : family.points.map(({ labels }) => family.name + JSON.stringify(labels)),
  )
}

function sizeOf(family: Family): number {
  if (family.type !== 'histogram') return family.points.length
  return family.points.reduce((sum, { bounds }) => sum + bounds.length + 3, 0)
}

function isOfThreads({ name }: Family): boolean {
  return name.startsWith('turnwatch_thread_')
}

/** What Prometheus adds to every target: up, scrape_duration_seconds, and three that count what was scraped. */
export const SERIES_OF_A_TARGET = 5

/** Series by what brings them. */
export interface Parts {
  readonly host: number
  readonly channel: number
  readonly pair: number
  readonly thread: number
}

export function parts(): Parts {
  const count = (watch: Turnwatch) => seriesOf(watch.metrics()).length
  const watch = createTurnwatch()
  const host = count(watch)
  run(watch, 0, 'first')
  const onePair = count(watch)
  run(watch, 1, 'second')
  const pair = count(watch) - onePair
  if (onePair - host !== pair) throw new Error('the first pair brings other series than the second')
  watch.startTurn({ threadId: 'third', provider: 'provider', model: 'model-0' })
  const thread = count(watch) - onePair - pair
  const channel = count(createTurnwatch({ notify: () => {} })) - host
  return { host: host + SERIES_OF_A_TARGET, channel, pair, thread }
}

function run(watch: Turnwatch, model: number, threadId: string): void {
  watch
    .startTurn({ threadId, provider: 'provider', model: `model-${model}` })
    .observe({ kind: 'turn.ended', outcome: 'completed' })
}

/** The distinct series of a day, those of its busiest `HEAD_HOURS`, and the samples of it. */
export interface Day {
  readonly series: number
  readonly inHead: number
  readonly samples: number
}

/**
 * A day of one host, scraped every 15 s: 1000 turns of half a minute to nine minutes begin within ten hours, five in a
 * thread unless it is said otherwise, one in a hundred silent until it is stale.
 */
export function dayOf(mode: PerThreadSeries, turnsInAThread = TURNS_A_THREAD): Day {
  const machine = new VirtualHost({ wallBaseMs: Date.parse('2026-03-12T08:00:00Z') })
  const watch = createTurnwatch({ clock: machine.clock, notify: () => {} })
  machine.schedule(Array.from({ length: TURNS_A_DAY }, (_, i) => turn(i, threadOf(i, turnsInAThread), watch, machine)))
  const lastSeen = new Map<string, number>()
  const begins: number[] = []
  const sizes = new Map<string, number>()
  let samples = 0
  for (let at = 0; at < DAY_MS; at += SCRAPE_SECONDS * 1000) {
    machine.run(at, () => watch.tick())
    const families = watch.metrics({ perThread: mode })
    samples += families.reduce((sum, family) => sum + sizeOf(family), SERIES_OF_A_TARGET)
    // But for those of threads, series come and never go: as many as before are the same.
    const changed = families.filter((family) => isOfThreads(family) || sizeOf(family) !== sizes.get(family.name))
    for (const family of changed) sizes.set(family.name, sizeOf(family))
    for (const one of seriesOf(changed)) {
      if (!lastSeen.has(one)) begins.push(at)
      lastSeen.set(one, at)
    }
  }
  for (const one of seriesOf(watch.metrics({ perThread: mode }))) lastSeen.set(one, DAY_MS)
  const ends = [...lastSeen.values()].sort((a, b) => a - b)
  return {
    series: lastSeen.size + SERIES_OF_A_TARGET,
    inHead: busiest(begins, ends) + SERIES_OF_A_TARGET,
    samples,
  }
}

/** A turn with a token every five seconds, and halfway a tool, or a silence that is flagged. */
function turn(i: number, threadId: string, watch: Turnwatch, machine: VirtualHost): { due: number; act: () => void } {
  const seconds = 30 + ((i * 7919) % 510)
  const observe = (event: TurnEvent) => watch.observe(threadId, event)
  const speak = (left: number) => {
    if (left <= 0) return observe({ kind: 'turn.ended', outcome: 'completed' })
    observe({ kind: 'token', stream: 'text' })
    const halfway = left < seconds / 2 && left + 5 >= seconds / 2
    const silent = i % 100 === 99
    if (halfway && !silent) {
      observe({ kind: 'tool.started', id: 'tool' })
      machine.after(30_000, () => observe({ kind: 'tool.ended', id: 'tool' }))
    }
    machine.after(!halfway ? 5000 : silent ? 150_000 : 35_000, () => speak(left - 5))
  }
  return {
    due: (i * WORKING_HOURS * HOUR_MS) / TURNS_A_DAY,
    act: () => {
      watch.startTurn({ threadId, provider: 'provider', model: `model-${i % PAIRS}` })
      speak(seconds)
    },
  }
}

/** Twenty threads at a time, so that one has its next turn twelve minutes after the one before. */
function threadOf(i: number, turnsInAThread: number): string {
  return `thread-${(i % 20) + 20 * Math.floor(i / (20 * turnsInAThread))}`
}

/** The most series that a head of three hours has held: those that have begun, less those that ended before it. */
function busiest(begins: readonly number[], ends: readonly number[]): number {
  let most = 0
  let gone = 0
  begins.forEach((at, i) => {
    while ((ends[gone] ?? Number.POSITIVE_INFINITY) < at - HEAD_HOURS * HOUR_MS) gone++
    most = Math.max(most, i + 1 - gone)
  })
  return most
}

const FLEETS = [1, 10, 100]
/** Prometheus' own rule of thumb for a sample on disk. */
const BYTES_A_SAMPLE = [1, 2]
/** Of memory, with its labels and the chunk that is open: rules of thumb. */
const BYTES_A_SERIES = [4000, 8000]

/** The tables of docs/scale.md by the comment that stands before each. */
export function tables(): Record<string, string> {
  const each = parts()
  const day = dayOf('all')
  const off = dayOf('off')
  const days: [string, Day][] = [
    [`\`all\`, ${TURNS_A_THREAD} turns in a thread`, day],
    ['`all`, a thread for every turn', dayOf('all', 1)],
    ['`stale`', dayOf('stale')],
    ['`off`', off],
  ]
  return {
    series: table(
      ['what brings them', 'series'],
      [
        ['a host, and 5 that Prometheus adds to a target', number(each.host)],
        ['a channel of the notifier', number(each.channel)],
        ['a provider/model pair, from its first turn on', number(each.pair)],
        ['a running thread', number(each.thread)],
        [`an ordinary host: ${PAIRS} pairs, ${CHANNELS} channel, ${THREADS} running threads`, number(ordinary(each))],
        [
          `the most that is possible: ${MAX_PAIRS} pairs and the rest as one, ${CHANNELS} channel, ${MAX_THREADS} threads`,
          number(each.host + each.channel + (MAX_PAIRS + 1) * each.pair + MAX_THREADS * each.thread),
        ],
      ],
    ),
    fleet: table(
      ['ordinary hosts', 'series at a time', 'samples a second', 'samples a day', 'disk for 30 days', 'memory'],
      FLEETS.map((hosts) => [
        number(hosts),
        number(hosts * ordinary(each)),
        number(Math.round((hosts * ordinary(each)) / SCRAPE_SECONDS)),
        million(hosts * day.samples),
        BYTES_A_SAMPLE.map((bytes) => gigabytes(30 * bytes * hosts * day.samples)).join(' to '),
        BYTES_A_SERIES.map((bytes) => megabytes(bytes * hosts * day.inHead)).join(' to '),
      ]),
    ),
    churn: table(
      [
        '`perThread`',
        'distinct series a day',
        'of them by threads',
        'in the memory of Prometheus at most',
        'samples a day',
      ],
      days.map(([mode, { series, inHead, samples }]) => [
        mode,
        number(series),
        number(series - off.series),
        number(inHead),
        million(samples),
      ]),
    ),
  }
}

function ordinary({ host, channel, pair, thread }: Parts): number {
  return host + CHANNELS * channel + PAIRS * pair + THREADS * thread
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return line(head) + line(head.map((_, i) => (i === 0 ? '---' : '---:'))) + rows.map(line).join('')
}

function number(value: number): string {
  return value.toLocaleString('en')
}

function million(value: number): string {
  return `${(value / 1e6).toFixed(1)} million`
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

/** The page with its tables as they are now. Throws for a table without a place. */
export function withTables(page: string, all: Readonly<Record<string, string>>): string {
  return Object.entries(all).reduce((text, [name, rows]) => {
    const place = new RegExp(`(<!-- ${name} -->\\n)(?:\\|.*\\n)*`)
    if (!place.test(text)) throw new Error(`docs/scale.md has no place for the table ${name}`)
    return text.replace(place, (_all, comment: string) => comment + rows)
  }, page)
}

export const PAGE = fileURLToPath(new URL('scale.md', import.meta.url))

if (import.meta.main) {
  const all = tables()
  if (process.argv.includes('--write')) writeFileSync(PAGE, withTables(readFileSync(PAGE, 'utf8'), all))
  else process.stdout.write(Object.values(all).join('\n'))
}
