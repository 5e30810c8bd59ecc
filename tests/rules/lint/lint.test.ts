import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ALERTS_FILE, CRD_FILE, packFiles, plainFile, RECORDING_FILE } from '../../../rules/files.ts'
import { ALERTS, makePack, PACK_KNOBS } from '../../../rules/pack.ts'
import { RULES } from '../rule-tests.ts'
import { CHECKS, type Check, lint, type World } from './all.ts'
import { noDuplicates, recordsAreRead } from './pack.ts'
import { groupsOf, linted } from './rule.ts'
import { groupInterval } from './waits.ts'

const asShipped = { hostLabels: PACK_KNOBS.hostLabels.split(', '), clusterLabels: [PACK_KNOBS.clusterLabels] }
const shipped = (file: string) => groupsOf(readFileSync(RULES + file, 'utf8'))

describe('no check finds anything', () => {
  it('in the two rule files together', () => {
    expect(lint([...shipped(RECORDING_FILE), ...shipped(ALERTS_FILE)], asShipped)).toEqual([])
  })

  it('in the resource of the operator, which has the same groups', () => {
    const { spec } = parse(readFileSync(RULES + CRD_FILE, 'utf8')) as { spec: unknown }
    const groups = groupsOf(JSON.stringify(spec))
    expect(groups).toEqual([...shipped(RECORDING_FILE), ...shipped(ALERTS_FILE)])
  })

  it('in the pack with what is off by default, and with its knobs set', () => {
    const set = [
      'hostLabels=instance,hostname',
      'clusterLabels=region,zone',
      'gap=4m',
      'TurnStale.for=5m',
      'ServerDown.jobs=bots|agents',
      'grafana=https://g.example/x',
    ]
    const pack = makePack({ set, enable: ['MetricsAbsent'], disable: ['HostSuspended'] })
    expect(
      lint(groupsOf(plainFile(pack)), { hostLabels: ['instance', 'hostname'], clusterLabels: ['region', 'zone'] }),
    ).toEqual([])
  })

  it('in what is recorded, all of which says what it is', () => {
    const help = new Map(makePack().recordings.map((one) => [one.record, one.help]))
    const rules = [...shipped(RECORDING_FILE), ...shipped(ALERTS_FILE)].flatMap((group) => group.rules)
    expect(recordsAreRead(rules, (record) => /^[A-Z].*\.$/.test(help.get(record) ?? ''))).toEqual([])
  })
})

it('the alerts are those that are shipped, but for what is off', () => {
  const names = groupsOf(packFiles(makePack())[ALERTS_FILE] as string).flatMap(({ rules }) =>
    rules.map(({ alert }) => alert),
  )
  expect(names).toEqual(ALERTS.filter((alert) => !alert.off).map(({ name }) => name))
})

const world: World = {
  records: new Map([['model:turnwatch_x:sum', 'sum without (instance) (turnwatch_turns_stale)']]),
  hostLabels: ['instance'],
  clusterLabels: ['cluster'],
  runbooks: ['X.md'],
}
const annotations = {
  summary: 'It is so.',
  description: '{{ $labels.instance }} is so.',
  runbook_url: 'https://example.com/rules/runbooks/X.md',
  dashboard_url: 'http://localhost:3000/d/turnwatch-health?var-job={{ $labels.job | urlquery }}',
}
const stale = 'turnwatch_turns_stale'
type Given = Omit<Parameters<typeof linted>[0], 'expr'>

/** What each check must refuse, and what it says of it. */
const REFUSED: Readonly<Record<Check, readonly (readonly [expr: string, says: string, rule?: Given])[]>> = {
  absentWaits: [
    ['absent(turnwatch_build_info)', 'X waits for less than two scrapes'],
    ['absent(turnwatch_build_info)', 'X waits for less than two scrapes', { for: '15s' }],
  ],
  comparison: [
    [stale, 'X compares nothing in'],
    [`${stale} > bool 0`, 'X compares nothing in'],
    [`${stale} > 0 or ${stale}`, 'X compares nothing in'],
    [`${stale} unless ${stale} > 0`, 'X compares nothing in'],
  ],
  countersRise: [
    ['turnwatch_ticks_total > 0', 'X reads the counter turnwatch_ticks_total as it stands'],
    ['max_over_time(turnwatch_ticks_total[5m]) > 0', 'X reads the counter'],
    ['turnwatch_tick_lag_seconds_count > 0', 'X reads the counter'],
    ['turnwatch_ticks_total > 0 unless turnwatch_ticks_total', 'X reads the counter'],
    ['turnwatch_ticks_total > 0 unless turnwatch_host_suspends_total offset 5m', 'X reads the counter'],
  ],
  dashboard: [
    [`${stale} > 0`, 'X has no dashboard', { annotations: { dashboard_url: 'http://localhost:3000/d/another' } }],
    [`${stale} > 0`, 'X has no dashboard at ""', { annotations: {} }],
  ],
  description: [
    [`${stale} > 0`, 'the description of X', { annotations: { description: 'A host is so.' } }],
    [`${stale} > 0`, 'the description of X', { annotations: { description: '' } }],
    [
      'absent(turnwatch_build_info)',
      'the description of X',
      { annotations: { description: '{{ $labels.job }} is so.' } },
    ],
  ],
  gaugesDoNot: [[`rate(${stale}[5m]) > 0`, 'X takes the gauge turnwatch_turns_stale for a counter']],
  matchersMatch: [
    [`${stale}{phase="mid-stream"} > 0`, 'X asks turnwatch_turns_stale for the label phase'],
    [`${stale}{cluster="eu"} > 0`, 'X asks turnwatch_turns_stale for the label cluster'],
    [`${stale}{reason="silent"} > 0`, 'for reason silent, which it never is'],
    [`${stale}{reason=~"silence|dead"} > 0`, 'for reason dead, which it never is'],
  ],
  namesExist: [
    ['turnwatch_turn_stale > 0', 'X reads turnwatch_turn_stale, which nobody writes'],
    ['turnwatch_tick_lag_seconds > 0', 'which nobody writes'],
    ['model:turnwatch_y:sum > 0', 'X reads model:turnwatch_y:sum, which nobody writes'],
    ['{reason="silence"} > 0', 'X reads a selector without a name'],
  ],
  noDivisionByZero: [[`${stale} / ${stale} > 0`, 'X has a / by what may be zero']],
  noNeedlessRegex: [
    [`${stale}{reason=~"silence"} > 0`, 'X needs no regular expression in reason=~"silence"'],
    [`${stale}{job=~".*"} > 0`, 'X needs no regular expression in job=~".*"'],
  ],
  noRateOfSums: [
    ['rate(sum without (instance) (turnwatch_ticks_total)[5m:]) > 0', 'X takes the rate of what is no counter'],
    ['increase(model:turnwatch_x:sum[5m]) > 0', 'X takes the increase of what is no counter'],
  ],
  noneOfTheLargest: [
    [`topk without (instance) (3, ${stale}) > 0`, 'X takes a topk, which is another one all the time'],
  ],
  plainWaits: [
    [`${stale} > 0`, 'X waits for "0s"', { for: '0s' }],
    [`${stale} > 0`, 'X waits for "soon"', { for: 'soon' }],
    [`${stale} > 0`, 'X has keep_firing_for', { keep_firing_for: '5m' }],
  ],
  recordNames: [[stale, 'stale_turns is not level:metric:operations', { record: 'stale_turns' }]],
  runbook: [
    [
      `${stale} > 0`,
      'Y has no runbook',
      { alert: 'Y', annotations: { ...annotations, runbook_url: 'https://example.com/rules/runbooks/Y.md' } },
    ],
    [`${stale} > 0`, 'Y has no runbook', { alert: 'Y', annotations }],
    [`${stale} > 0`, 'X has no runbook at ""', { annotations: {} }],
  ],
  sidesMeet: [
    [`${stale} > turnwatch_turns_running`, 'X: the sides of > have the labels'],
    [`${stale} > 0 unless turnwatch_build_info`, 'X: the sides of unless have the labels'],
    [`${stale} > 0 and on (thread) turnwatch_thread_stale`, 'do not both have thread'],
    [`${stale} > 0 unless on (job, region) turnwatch_build_info`, 'do not both have region'],
    [`sum by (job) (${stale}) > 0 unless on (job, cluster) turnwatch_build_info`, 'do not both have cluster'],
    [`${stale} > 0 unless ignoring (thread) ${stale}`, 'ignore thread, which neither has'],
    [`sum without (instance) (${stale}) > ${stale}`, 'keep different labels of the target'],
    [`model:turnwatch_x:sum > ${stale}`, 'keep different labels of the target'],
    [`sum by (provider) (${stale}) > sum without (model, reason) (${stale})`, 'keep different labels of the target'],
  ],
  steadyLabels: [
    [`${stale} > 0`, 'the label turns of X changes with the value', { labels: { turns: '{{ $value }}' } }],
  ],
  summary: [
    [`${stale} > 0`, 'the summary of X', { annotations: { summary: 'It is so' } }],
    [`${stale} > 0`, 'the summary of X', { annotations: { summary: '{{ $labels.instance }} is so.' } }],
    [`${stale} > 0`, 'the summary of X', { annotations: {} }],
  ],
  templateLabels: [
    [`sum without (instance) (${stale}) > 0`, 'description of X has the label instance'],
    [`sum by (job) (${stale}) > 0`, 'description of X has the label instance'],
    [`${stale} > 0`, 'the label thread', { annotations: { summary: '{{ $labels.thread }}' } }],
    [`${stale} > 0`, 'the label cluster', { labels: { region: '{{ $labels.cluster }}' } }],
    ['absent(turnwatch_build_info{job="a"})', 'the label instance'],
  ],
  wideWindows: [['increase(turnwatch_ticks_total[45s]) == 0', 'X looks at turnwatch_ticks_total over 45s']],
  withoutAlone: [
    [`sum by (job) (${stale}) > 0`, 'X has sum, and drops the labels'],
    [`sum(${stale}) > 0`, 'X has sum, and drops the labels'],
  ],
  withoutWhatIsThere: [
    [`sum without (state) (${stale}) > 0`, 'X has sum without state, which is not there'],
    [`sum without (hostname) (${stale}) > 0`, 'X has sum without hostname, which is not there'],
  ],
}

describe.each(Object.entries(REFUSED))('%s refuses', (check, refused) => {
  it.each(refused.map(([expr, says, rule = {}]) => ({ expr, says, rule })))('$expr: $says', ({ expr, says, rule }) => {
    const one = linted({ ...(rule.record ? {} : { alert: 'X' }), annotations, ...rule, expr })
    const found = CHECKS[check as Check](one, world)
    expect(found[0]).toContain(says)
  })
})

it('no check refuses a rule that is well', () => {
  const expr = `sum without (reason) (${stale}) > 0\nunless on (job, instance, cluster) turnwatch_build_info`
  const one = linted({ alert: 'X', annotations, expr, for: '1m' })
  expect(Object.values(CHECKS).flatMap((check) => check(one, world))).toEqual([])
})

describe('of all rules together', () => {
  const rules = [linted({ record: 'a:b:sum', expr: 'up' }), linted({ alert: 'X', expr: 'up == 0' })]

  it('noDuplicates refuses a group, a name or an expression that is there twice', () => {
    expect(
      noDuplicates([
        { name: 'one', rules },
        { name: 'one', rules: [] },
      ]),
    ).toEqual(['the group one is there twice'])
    const again = [
      { name: 'one', rules },
      { name: 'two', rules: [linted({ alert: 'X', expr: 'up\n== 0' })] },
    ]
    expect(noDuplicates(again)).toEqual(['X is there twice', 'up == 0 is there twice'])
  })

  it('recordsAreRead refuses what nobody reads and nothing explains', () => {
    expect(recordsAreRead(rules, () => false)).toEqual(['a:b:sum is recorded for nobody'])
    expect(recordsAreRead([...rules, linted({ alert: 'Y', expr: 'a:b:sum > 1' })], () => false)).toEqual([])
  })

  it('groupInterval refuses a group whose records would not be found between two evaluations', () => {
    expect(groupInterval({ name: 'one', interval: '6m', rules })).toEqual(['one is evaluated every 6m'])
    expect(groupInterval({ name: 'one', interval: '5m', rules })).toEqual([])
  })
})
