import { describe, expect, inject, it } from 'vitest'
import { packFiles } from '../../rules/files.ts'
import { ALERTS, makePack } from '../../rules/pack.ts'
import { counts } from './counts.ts'
import { folderOf, promtool } from './promtool.ts'
import { KINDS, type Kind, kindsOf, RULE_TESTS, ruleTestFiles } from './rule-tests.ts'

const files = ruleTestFiles()
const LONG = 300_000

describe.skipIf(inject('missing').includes('prometheus'))(
  'promtool finds that every rule does what its tests say',
  () => {
    it.each(files)('$file', { timeout: LONG }, async ({ file }) => {
      const success = { code: 0, text: expect.stringContaining('SUCCESS') }
      expect(await promtool('test', 'rules', RULE_TESTS + file)).toEqual(success)
    })

    it('and that a host which vanished is told of where only the alerts are loaded', { timeout: LONG }, async () => {
      const folder = folderOf({ ...packFiles(makePack()), 'alone.test.yaml': VANISHED_ALONE })
      expect(await promtool('test', 'rules', `${folder}/alone.test.yaml`)).toMatchObject({ code: 0 })
    })

    it('and that a host behind a collector has not stopped when it is gone, if the alert waits for as long as that repeats it', {
      timeout: LONG,
    }, async () => {
      for (const [wait, code] of [
        ['1m', 1],
        ['2m', 0],
      ] as const) {
        const pack = packFiles(makePack({ set: [`DetectorStopped.for=${wait}`] }))
        const folder = folderOf({ ...pack, 'collector.test.yaml': GONE_BEHIND_COLLECTOR })
        expect([wait, await promtool('test', 'rules', `${folder}/collector.test.yaml`)]).toMatchObject([wait, { code }])
      }
    })

    it('and that a rule which does something else fails them', { timeout: LONG }, async () => {
      const pack = packFiles(makePack({ set: ['WaitLong.seconds=1900', 'TurnStale.for=2m'] }))
      for (const file of ['WaitLong.test.yaml', 'TurnStale.test.yaml']) {
        const folder = folderOf(pack, [[RULE_TESTS + file, `tests/${file}`]])
        expect(await promtool('test', 'rules', `${folder}/tests/${file}`)).toMatchObject({ code: 1 })
      }
    })
  },
)

/** Two hosts that are gone, one of them with two turns in hand. */
const VANISHED_ALONE = `
rule_files: [turnwatch-alerts.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: turnwatch_build_info{job="agents", instance="busy:9464", version="1", node_version="v24", catalogue="1"}
        values: 1x5 stale
      - series: turnwatch_turns_running{job="agents", instance="busy:9464", provider="codex", model="a", state="tool"}
        values: 1x5 stale
      - series: turnwatch_turns_running{job="agents", instance="busy:9464", provider="codex", model="b", state="tool"}
        values: 1x5 stale
      - series: turnwatch_build_info{job="agents", instance="idle:9464", version="1", node_version="v24", catalogue="1"}
        values: 1x5 stale
      - series: turnwatch_turns_running{job="agents", instance="idle:9464", provider="codex", model="a", state="tool"}
        values: 1x4 0 stale
    promql_expr_test:
      - expr: ALERTS{alertname="HostVanishedWithTurnsRunning", alertstate="firing"}
        eval_time: 7m
      - expr: count by (instance) (ALERTS{alertname="HostVanishedWithTurnsRunning", alertstate="firing"})
        eval_time: 9m
        exp_samples: [{ labels: '{instance="busy:9464"}', value: 1 }]
`

/** Pushed each minute, scraped each 15 s, and repeated for 2 minutes after the last push. */
const GONE_BEHIND_COLLECTOR = `
rule_files: [turnwatch-alerts.yaml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - series: turnwatch_ticks_total{job="agents", instance="a"}
        values: 0x3 60x3 120x3 180x3 240x3 300x7 stale
    promql_expr_test:
      - expr: count_over_time(ALERTS{alertstate="firing"}[20m])
        eval_time: 20m
        exp_samples: []
`

/** What does not apply to an alert. */
const NOT_OF: Readonly<Record<string, readonly Kind[]>> = {
  // They read gauges alone, which no restart can make fall.
  TurnStale: ['counter reset'],
  ManyTurnsStale: ['counter reset'],
  ProviderStalled: ['counter reset'],
  ThresholdExcessive: ['counter reset'],
  NotifierBacklog: ['counter reset'],
  ToolOpenLong: ['counter reset'],
  WaitLong: ['counter reset'],
  TurnNotStarted: ['counter reset'],
  InterruptNotSettled: ['counter reset'],
  TurnNotSettled: ['counter reset'],
  SeriesOmitted: ['counter reset'],
  CatalogueMismatch: ['counter reset'],
}

describe('the tests of rules', () => {
  it('are there for every alert, and for the recording rules', () => {
    const names = ALERTS.map(({ name }) => `${name}.test.yaml`)
    expect(files.map(({ file }) => file).toSorted()).toEqual([...names, 'recording-rules.test.yaml'].toSorted())
  })

  it.each(files.filter(({ alert }) => alert !== undefined))('show all that can happen to $alert', (file) => {
    const needed = KINDS.filter((kind) => !NOT_OF[String(file.alert)]?.includes(kind))
    expect(new Set(kindsOf(file))).toEqual(new Set(needed))
  })

  it.each(files)('say in $file what each of them shows', ({ text, comments }) => {
    expect(comments).toHaveLength([...text.matchAll(/^ {2}- interval:/gm)].length)
    expect(comments).not.toContain('')
  })

  it('read the very files that are shipped', () => {
    for (const { text, alert } of files) {
      const off = ALERTS.find(({ name }) => name === alert)?.off
      const alerts = off ? 'all-enabled.rules.yaml' : '../turnwatch-alerts.yaml'
      const read = alert ? `[../turnwatch-recording.yaml, ${alerts}]` : '[../turnwatch-recording.yaml]'
      expect(text).toContain(`\nrule_files: ${read}\n`)
    }
  })

  it('name every recording rule', () => {
    const text = files.find(({ alert }) => alert === undefined)?.text
    for (const { record } of makePack().recordings) expect(text).toContain(record)
  })

  it('are counted', () => {
    const { alerts, recordingRules, ruleTests, ruleAssertions } = counts()
    expect({ alerts, recordingRules }).toEqual({ alerts: 26, recordingRules: 19 })
    expect(ruleTests).toBeGreaterThan(200)
    expect(ruleAssertions).toBeGreaterThan(500)
  })
})
