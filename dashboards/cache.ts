/** The prompt cache: how much of the input comes from it, for which model, and what changed. */

import type { DashboardSource } from './dashboard.ts'
import { toDashboard, toLabels, toRow } from './links.ts'
import { chart, stat } from './panels.ts'
import { counted, shown } from './scope.ts'
import { NOTHING_COLOUR, PLAIN } from './states.ts'
import { table } from './table.ts'

const MODEL = ['provider', 'model'] as const
const BY_MODEL = 'by (provider, model)'
const THREADS = toDashboard('thread', 'Running turns, one by one')
const NO_USAGE = 'No ended turn told what it used'

export function cacheDashboard(): DashboardSource {
  return {
    name: 'cache',
    description:
      'Input tokens of ended turns: read from the prompt cache, written to it, or neither. Only of agents that tell what they used.',
    from: 'now-24h',
    rows: [
      { title: 'How much of the input comes from the cache?', panels: totals() },
      { title: 'Which provider or model?', panels: models() },
      { title: 'What changed?', panels: changes() },
    ],
  }
}

const KINDS = [
  'prompt_cache_read_tokens_total',
  'prompt_cache_write_tokens_total',
  'prompt_cache_uncached_tokens_total',
] as const
type Kind = (typeof KINDS)[number]

const inRange = (kind: Kind) => `increase(${shown(kind)}[$__range])`
const perMinute = (kind: Kind) => `rate(${shown(kind)}[$__rate_interval])`

/** Tokens read, as a share of all. */
function share(tokens: (kind: Kind) => string, by = ''): string {
  const [read, ...rest] = KINDS.map((kind) => `sum${by && ` ${by} `}(${tokens(kind)})`)
  return `${read} / (${[read, ...rest].join(' + ')} > 0)`
}

function total(title: string, description: string, kind: Kind) {
  return stat({
    title,
    description,
    unit: 'short',
    steps: PLAIN,
    queries: [{ expr: counted(`sum(${inRange(kind)})`), legend: 'Tokens' }],
    links: [toDashboard('overview', 'All providers and models')],
    empty: NO_USAGE,
    width: 6,
    height: 5,
  })
}

function totals() {
  return [
    stat({
      title: 'Input read from the cache, share',
      description: 'Of all input tokens of turns that ended in the time shown. The higher, the cheaper and faster.',
      unit: 'percentunit',
      steps: PLAIN,
      queries: [{ expr: share(inRange), legend: 'From the cache' }],
      links: [toDashboard('overview', 'All providers and models')],
      empty: NO_USAGE,
      width: 6,
      height: 5,
    }),
    total(
      'Tokens read from the cache',
      'Input tokens that the provider had kept, in the time shown.',
      'prompt_cache_read_tokens_total',
    ),
    total(
      'Tokens written to the cache',
      'Input tokens that the provider keeps for the next call, in the time shown.',
      'prompt_cache_write_tokens_total',
    ),
    total(
      'Tokens not in the cache',
      'Input tokens neither read from the cache nor written to it, in the time shown.',
      'prompt_cache_uncached_tokens_total',
    ),
  ]
}

function models() {
  const tokens = (kind: Kind) => counted(`sum ${BY_MODEL} (${inRange(kind)})`)
  const written = (ttl: string) =>
    counted(`sum ${BY_MODEL} (increase(${shown('prompt_cache_write_tokens_total', { ttl })}[$__range]))`)
  return [
    table({
      title: 'Input tokens by model',
      description:
        'Of turns that ended in the time shown. Written tokens are kept for five minutes or for an hour, where the agent says which.',
      labels: { provider: 'Provider', model: 'Model' },
      labelLinks: { model: [toRow('cache', 'Only this model', MODEL)] },
      columns: [
        { title: 'From the cache', expr: share(inRange, BY_MODEL), unit: 'percentunit' },
        { title: 'Read', expr: tokens('prompt_cache_read_tokens_total'), unit: 'short' },
        { title: 'Written for 5 min', expr: written('5m'), unit: 'short' },
        { title: 'Written for 1 h', expr: written('1h'), unit: 'short' },
        { title: 'Written, time unknown', expr: written('unknown'), unit: 'short' },
        { title: 'Not in the cache', expr: tokens('prompt_cache_uncached_tokens_total'), unit: 'short' },
      ],
      sortedBy: 'Read',
      links: [THREADS],
      empty: NO_USAGE,
      width: 24,
      height: 8,
    }),
    chart({
      title: 'Input read from the cache, share by model',
      description:
        'A fall says that prompts changed at their beginning, or that calls came after the cache had expired.',
      unit: 'percentunit',
      max: 1,
      interval: '5m',
      ranked: true,
      queries: [{ expr: share(perMinute, BY_MODEL), legend: '{{provider}} {{model}}' }],
      links: [THREADS],
      valueLinks: [toLabels('cache', 'Only this model', MODEL)],
      empty: NO_USAGE,
      width: 24,
      height: 9,
    }),
  ]
}

function changes() {
  const writtenPerMinute = (ttl: string) =>
    `60 * sum(rate(${shown('prompt_cache_write_tokens_total', { ttl })}[$__rate_interval]))`
  return [
    chart({
      title: 'Input tokens per minute, by where they come from',
      description: 'All input tokens of ended turns. Tokens count when their turn ends.',
      unit: 'short',
      stacked: true,
      interval: '5m',
      queries: [
        { expr: `60 * sum(${perMinute('prompt_cache_read_tokens_total')})`, legend: 'Read from the cache' },
        { expr: `60 * sum(${perMinute('prompt_cache_write_tokens_total')})`, legend: 'Written to the cache' },
        { expr: `60 * sum(${perMinute('prompt_cache_uncached_tokens_total')})`, legend: 'Not in the cache' },
      ],
      looks: [
        { legends: /^Read/, colour: 'green' },
        { legends: /^Written/, colour: 'blue' },
        { legends: /^Not/, colour: 'orange' },
      ],
      links: [THREADS],
      empty: NO_USAGE,
      width: 12,
      height: 9,
    }),
    chart({
      title: 'Tokens written per minute, by how long they are kept',
      description:
        'A change of the time that prompts are kept shows here: an hour costs more to write than five minutes.',
      unit: 'short',
      stacked: true,
      interval: '5m',
      queries: [
        { expr: writtenPerMinute('5m'), legend: 'For 5 minutes' },
        { expr: writtenPerMinute('1h'), legend: 'For an hour' },
        { expr: writtenPerMinute('unknown'), legend: 'The agent does not say' },
      ],
      looks: [
        { legends: /^For 5/, colour: 'light-blue' },
        { legends: /^For an hour$/, colour: 'dark-blue' },
        { legends: /^The agent/, colour: NOTHING_COLOUR },
      ],
      links: [THREADS],
      empty: NO_USAGE,
      width: 12,
      height: 9,
    }),
  ]
}
