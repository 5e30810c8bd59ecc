/** What a run's metrics say of its turns. */

import { type Sample, samplesOf } from '../../metrics/exposition.ts'

export interface Statistics {
  readonly started: number
  /** Turns by outcome, without the outcomes that none had. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Of all turns together. */
  readonly firstTokenMs: number
  readonly tokens: number
  /** The longest judged silence of the turns that were healthy, by phase. */
  readonly longestMs: Readonly<Record<string, number>>
  /** Event types that the source does not know. */
  readonly unknownTypes: readonly string[]
}

export function statisticsOf(exposition: string): Statistics {
  const all = samplesOf(exposition)
  const of = (name: string) => all.filter((sample) => sample.name === `turnwatch_${name}` && sample.value !== 0)
  return {
    started: sum(of('turns_started_total')),
    outcomes: byLabel(of('turns_ended_total'), 'outcome'),
    firstTokenMs: sum(of('time_to_first_token_seconds_sum')) * 1000,
    tokens: sum(of('events_total').filter(({ labels }) => labels.class === 'token')),
    longestMs: byLabel(of('healthy_gap_max_seconds'), 'phase', 1000),
    unknownTypes: of('unclassified_events_total').map(({ labels }) => `${labels.source} ${labels.type}`),
  }
}

function sum(samples: readonly Sample[]): number {
  return samples.reduce((total, { value }) => total + value, 0)
}

function byLabel(samples: readonly Sample[], label: string, factor = 1): Record<string, number> {
  return Object.fromEntries(samples.map(({ labels, value }) => [labels[label] ?? '', value * factor]))
}
