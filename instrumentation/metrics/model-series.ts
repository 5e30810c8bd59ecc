/** What has happened to the turns of each provider/model pair. */

import { OUTCOMES, PHASES } from '../events.ts'
import { GAP_BOUNDS_SECONDS } from '../gap-histogram.ts'
import { Histogram } from '../histogram.ts'
import { EVENT_CLASSES, type TurnClock } from '../turn-clock.ts'
import { CACHE_TTLS, type KeyCounters, RESOLUTIONS, STALE_REASONS } from '../turn-counters.ts'
import type { Families } from './families.ts'
import type { Measured } from './measured.ts'
import type { ModelGroup } from './model-groups.ts'

export function collectModels(detector: Measured, families: Families, groups: readonly ModelGroup[]): void {
  const { counters } = detector
  for (const group of groups) {
    collectTurns(detector, families, group)
    collectPhases(detector, families, group)
    collectCache(detector, families, group)
  }
  for (const resolution of RESOLUTIONS) {
    families.addHistogram('stale_duration_seconds', counters.staleSeconds[resolution], { resolution })
  }
  families.addHistogram('stale_detection_delay_seconds', counters.detectionDelay)
}

function collectTurns({ turns, counters }: Measured, families: Families, { labels, keys }: ModelGroup): void {
  const sum = summing(keys.map((key) => counters.at(key)))
  families.add(
    'turns_started_total',
    sum((key) => key.started),
    labels.own,
  )
  for (const name of EVENT_CLASSES) {
    const count = keys.reduce((total, key) => total + turns.eventCount(key, name), 0)
    families.add('events_total', count, labels.eventClass[name])
  }
  for (const outcome of OUTCOMES) {
    families.add(
      'turns_ended_total',
      sum((key) => key.ended[outcome]),
      labels.outcome[outcome],
    )
    const durations = keys.map((key) => counters.at(key).durations[outcome])
    families.addHistogram('turn_duration_seconds', merged(durations), labels.outcome[outcome])
  }
  const firstTokens = keys.map((key) => counters.at(key).firstToken)
  families.addHistogram('time_to_first_token_seconds', merged(firstTokens), labels.own)
}

function collectPhases(detector: Measured, families: Families, { labels, keys }: ModelGroup): void {
  const { turns, counters, learning } = detector
  const sum = summing(keys.map((key) => counters.at(key)))
  PHASES.forEach((phase, index) => {
    families.add(
      'turns_suspected_total',
      sum((key) => key.suspected[phase]),
      labels.phase[phase],
    )
    for (const reason of STALE_REASONS) {
      const both = labels.reasonAndPhase[reason][phase]
      families.add(
        'turns_stale_total',
        sum((key) => key.stale[reason][phase]),
        both,
      )
      families.add(
        'turns_recovered_total',
        sum((key) => key.recovered[reason][phase]),
        both,
      )
    }
    const gaps = keys.map((key) => gapHistogram(turns, key * PHASES.length + index))
    families.addHistogram('event_gap_seconds', merged(gaps), labels.phase[phase])
    const rows = keys.map((key) => learning.rowOf(key, turns.keys.at(key), index))
    const largest = (ms: readonly number[]) => ms.reduce((a, b) => Math.max(a, b), 0) / 1000
    families.add('threshold_seconds', largest(rows.map((row) => row.thresholdMs)), labels.phase[phase])
    families.add('healthy_gap_max_seconds', largest(rows.map((row) => row.largestMs)), labels.phase[phase])
    families.add(
      'healthy_samples',
      rows.reduce((total, row) => total + row.samples, 0),
      labels.phase[phase],
    )
  })
}

function collectCache({ counters }: Measured, families: Families, { labels, keys }: ModelGroup): void {
  const sum = summing(keys.map((key) => counters.at(key)))
  families.add(
    'prompt_cache_read_tokens_total',
    sum((key) => key.cacheRead),
    labels.own,
  )
  for (const ttl of CACHE_TTLS) {
    families.add(
      'prompt_cache_write_tokens_total',
      sum((key) => key.cacheWritten[ttl]),
      labels.ttl[ttl],
    )
  }
  families.add(
    'prompt_cache_uncached_tokens_total',
    sum((key) => key.uncached),
    labels.own,
  )
}

function summing(counters: readonly KeyCounters[]) {
  return (read: (key: KeyCounters) => number) => counters.reduce((total, key) => total + read(key), 0)
}

function gapHistogram(turns: TurnClock, row: number): Histogram {
  const histogram = new Histogram(GAP_BOUNDS_SECONDS)
  histogram.counts.set(turns.gaps.counts(row))
  histogram.sum = turns.gaps.sumMs(row) / 1000
  return histogram
}

function merged(histograms: readonly Histogram[]): Histogram {
  const [first] = histograms as [Histogram, ...Histogram[]]
  if (histograms.length === 1) return first
  const all = new Histogram(first.bounds)
  for (const { counts, sum } of histograms) {
    counts.forEach((count, i) => {
      all.counts[i] = (all.counts[i] as number) + count
    })
    all.sum += sum
  }
  return all
}
