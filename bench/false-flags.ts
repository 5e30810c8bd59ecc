/**
 * How often a healthy turn is flagged: both presets as they learn, beside fixed limits and phi accrual, on seven
 * simulated shapes of healthy silence. Seeds are fixed. `--quick`: one seed of 200,000 turns instead of four of a million.
 */

import { type Figure, heading, printFigures, printTable } from './report.ts'
import { scorePhiAccrual } from './simulation/phi-accrual.ts'
import { TAILS, type Tail } from './simulation/tails.ts'
import { type Score, scoreFixed, scorePreset, sum } from './simulation/thresholds.ts'
import { drawTurns } from './simulation/turns.ts'

const quick = process.argv.includes('--quick')
const SEEDS = quick ? [1] : [1, 2, 3, 4]
const TURNS = quick ? 200_000 : 1_000_000
const ACCEPTED = 1e-5

const DETECTORS = ['standard', 'cautious', 'fixed 60 s', 'fixed 90 s', 'fixed 300 s', 'phi accrual'] as const
type Scores = Record<(typeof DETECTORS)[number], Score>

export function benchFalseFlags(): Figure[] {
  heading(
    `False flags per healthy turn, ${SEEDS.length} x ${TURNS.toLocaleString('en')} turns a tail, verdict at 1.25 T`,
  )
  const byTail = TAILS.map(score)
  printTable(
    ['detector', ...TAILS.map((tail) => tail.name)],
    DETECTORS.map((name) => [name, ...byTail.map(({ scores }) => rate(scores[name]))]),
  )
  console.log('Mean silence in s after which a dead turn is flagged, weighted by turns\n')
  printTable(
    ['detector', ...TAILS.map((tail) => tail.name)],
    [
      ...DETECTORS.map((name) => [name, ...byTail.map(({ scores }) => delay(scores[name]))]),
      ['healthy 99.9 %', ...byTail.map(({ quantile }) => quantile(0.999))],
      ['healthy 99.999 %', ...byTail.map(({ quantile }) => quantile(0.99999))],
    ],
  )
  for (const { name, about } of TAILS) console.log(`  ${name.padEnd(12)}${about}`)
  console.log('  phi accrual: every gap of 20,000 turns a seed; mid-stream it sees gaps, not turns')
  console.log('  ± is the square root of the count; keys differ, so two sets of seeds differ by more.\n')
  return figures(byTail.map(({ scores }) => scores))
}

function score(tail: Tail): { scores: Scores; quantile: (q: number) => string } {
  const turns = SEEDS.map((seed) => drawTurns(tail, seed, TURNS))
  const all = new Float64Array(SEEDS.length * TURNS)
  turns.forEach(({ longestMs }, i) => {
    all.set(longestMs, i * TURNS)
  })
  all.sort()
  return {
    scores: {
      standard: sum(turns.map((of) => scorePreset('standard', of))),
      cautious: sum(turns.map((of) => scorePreset('cautious', of))),
      'fixed 60 s': sum(turns.map((of) => scoreFixed(60_000, of))),
      'fixed 90 s': sum(turns.map((of) => scoreFixed(90_000, of))),
      'fixed 300 s': sum(turns.map((of) => scoreFixed(300_000, of))),
      'phi accrual': sum(SEEDS.map((seed) => scorePhiAccrual(tail, seed, TURNS))),
    },
    quantile: (q) => ((all[Math.floor(q * all.length)] as number) / 1000).toFixed(0),
  }
}

function figures(scores: readonly Scores[]): Figure[] {
  const within = scores.filter(({ cautious }) => cautious.flags / cautious.turns <= ACCEPTED).length
  const over = TAILS.filter((_, i) => share((scores[i] as Scores).cautious) > ACCEPTED).map((tail) => tail.name)
  const range = (name: keyof Scores) => {
    const rates = scores.map((of) => share(of[name]))
    return `${plain(Math.min(...rates))} to ${plain(Math.max(...rates))}`
  }
  return [
    {
      what: 'false flags, cautious',
      budget: '<= 1e-5 on 6 of 7 tails',
      measured: `${range('cautious')}; on ${within} of 7${over.length > 0 ? `, over on ${over.join(', ')}` : ''}`,
      peer: `fixed 300 s: ${range('fixed 300 s')}`,
      ok: within >= 6,
    },
    {
      what: 'false flags, standard',
      budget: 'reported',
      measured: range('standard'),
      peer: `fixed 90 s: ${range('fixed 90 s')}`,
      ok: null,
    },
  ]
}

const share = ({ flags, turns }: Score) => flags / turns

function rate(score: Score): string {
  if (score.flags === 0) return `< ${plain(1 / score.turns)}`
  return `${plain(share(score))} ±${plain(Math.sqrt(score.flags) / score.turns)}`
}

function plain(value: number): string {
  if (value === 0) return '0'
  return value >= 0.001 ? value.toFixed(4) : value.toExponential(1)
}

const delay = ({ delayMs, turns }: Score) => (delayMs / turns / 1000).toFixed(0)

if (import.meta.main) printFigures(benchFalseFlags())
