import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { BadInput } from '../../bad-input.ts'
import { alertGroups, packFiles, plainFile } from '../../rules/files.ts'
import { ALERTS, makePack, PACK_KNOBS, PACK_KNOBS_HELP, type PackChanges } from '../../rules/pack.ts'
import { newPath, turnwatch } from '../command/harness.ts'
import { parse as parsePromQL } from '../promql/promql.ts'
import { RULES } from './rule-tests.ts'

/** The rule of an alert, with these changes. */
function ruleOf(alert: string, changes: PackChanges = {}) {
  return alertGroups(makePack(changes))
    .flatMap(({ rules }) => rules)
    .find((rule) => rule.alert === alert)
}

describe('a knob changes its rule, and that one alone', () => {
  it.each([
    ['TurnStale.for=2m', { for: '2m' }],
    ['TurnStale.severity=critical', { labels: { severity: 'critical' } }],
    ['TurnStale.hold=20m', { expr: expect.stringContaining('last_over_time(turnwatch_turns_stale[20m])') }],
    ['ToolOpenLong.seconds=90.5', { expr: 'turnwatch_open_tool_max_seconds > 90.5' }],
    ['ManyTurnsStale.turns=10', { expr: expect.stringMatching(/>= 10\nand/) }],
    ['ManyTurnsStale.share=0.5', { annotations: { description: expect.stringContaining('more than 50 % of those') } }],
    ['ServerDown.jobs=bots|agents', { expr: expect.stringMatching(/or\nup\{job=~"bots\|agents"\} == 0$/) }],
  ])('%s', (set, changed) => {
    const [alert = ''] = set.split('.')
    expect(ruleOf(alert, { set: [set] })).toMatchObject(changed)
    expect(ruleOf(alert)).not.toMatchObject(changed)
    for (const { name } of ALERTS) {
      if (name !== alert) expect(ruleOf(name, { set: [set] })).toEqual(ruleOf(name))
    }
  })

  it('a wait of 0s is none', () => {
    expect(ruleOf('TurnStale', { set: ['TurnStale.for=0s'] })).not.toHaveProperty('for')
  })

  it('a knob of the pack changes every rule that it concerns', () => {
    const pack = makePack({
      set: ['hostLabels= instance,host ,instance', 'grafana=https://g.example/x/', 'runbooks=https://w.example'],
    })
    const text = plainFile(pack)
    expect(text).not.toMatch(/\bpod\b|unpkg|localhost/)
    expect(text).toContain('sum without (instance, host, state) (turnwatch_turns_running)')
    expect(text).toContain('runbook_url: https://w.example/TurnStale.md')
    expect(text).toContain('dashboard_url: https://g.example/x/d/turnwatch-overview?')
  })

  it('hosts are known again by job, instance and the labels of clusters, and counted over gaps', () => {
    const text = plainFile(makePack({ set: ['clusterLabels=region, zone', 'gap=4m'] }))
    expect(text).not.toMatch(/\bcluster\b|\[1m\]/)
    expect(text).toContain('unless on (job, instance, region, zone) turnwatch_build_info')
    for (const alert of ['ManyTurnsStale', 'ProviderStalled', 'NoProgress'])
      expect(ruleOf(alert, { set: ['gap=4m'] })?.expr).toContain('[4m]')
  })

  it('the last of several values stands', () => {
    expect(ruleOf('TurnStale', { set: ['TurnStale.for=2m', 'TurnStale.for=3m'] })?.for).toBe('3m')
  })

  it('an alert is left out or taken in by its name', () => {
    expect(ruleOf('TurnStale', { disable: ['TurnStale'] })).toBeUndefined()
    expect([ruleOf('MetricsAbsent'), ruleOf('MetricsAbsent', { enable: ['MetricsAbsent'] })?.for]).toEqual([
      undefined,
      '5m',
    ])
  })

  it('the file says how it was made, on one line', () => {
    const { changes } = makePack({
      set: ['TurnStale.for=2m', 'ServerDown.jobs=a.b|c'],
      disable: ['WaitLong'],
    })
    expect(changes).toEqual(['--set TurnStale.for=2m', '--set "ServerDown.jobs=a.b|c"', '--disable WaitLong'])
    const long = `runbooks=https://wiki.example/${'x'.repeat(200)}`
    expect(makePack({ set: [long] }).changes).toEqual([`--set ${long}`])
  })
})

describe('what is no knob or no value is refused, with what is allowed', () => {
  const long = 'x'.repeat(10_000)
  it.each<[set: string, allowed: string]>([
    ['TurnStale', 'Alert.knob=value or knob=value'],
    ['', 'Alert.knob=value or knob=value'],
    ['=1', 'Alert.knob=value or knob=value'],
    ['TurnStale.for', 'Alert.knob=value or knob=value'],
    ['Turnstale.for=2m', 'an alert is one of TurnStale, TurnFailed, '],
    ['TurnStale.four=2m', 'a knob of TurnStale is one of severity, for, hold'],
    ['TurnStale.for=', 'a time as Prometheus writes it'],
    ['TurnStale.for=2', 'a time as Prometheus writes it'],
    ['TurnStale.for=-2m', 'a time as Prometheus writes it'],
    ['TurnStale.for=2m1h', 'a time as Prometheus writes it'],
    ['TurnStale.for=1.5m', 'a time as Prometheus writes it'],
    ['TurnStale.for=2y', 'up to 1y'],
    ['TurnStale.for=99999999999999999999y', 'up to 1y'],
    ['TurnStale.hold=0s', 'a time as Prometheus writes it'],
    ['TurnStale.hold=0m0s', 'a time as Prometheus writes it'],
    ['TurnStale.severity=page', 'a severity is one of critical, warning, info'],
    ['TurnStale.severity=__proto__', 'a severity is one of'],
    ['WaitLong.seconds=', 'seconds, a number from 0 up'],
    ['WaitLong.seconds=-1', 'seconds, a number from 0 up'],
    ['WaitLong.seconds=1e309', 'seconds, a number from 0 up'],
    ['WaitLong.seconds=1e3', 'seconds, a number from 0 up'],
    ['WaitLong.seconds=0x10', 'seconds, a number from 0 up'],
    ['WaitLong.seconds=NaN', 'seconds, a number from 0 up'],
    ['WaitLong.seconds=Infinity', 'seconds, a number from 0 up'],
    ['WaitLong.seconds=1 or vector(1)', 'seconds, a number from 0 up'],
    [`WaitLong.seconds=${'9'.repeat(400)}`, 'seconds, a number from 0 up'],
    ['ManyTurnsStale.share=1.1', 'a share, from 0 to below 1'],
    ['ManyTurnsStale.share=1', 'a share, from 0 to below 1'],
    ['ManyTurnsStale.turns=0', 'a whole number from 1 up'],
    ['ManyTurnsStale.turns=2.5', 'a whole number from 1 up'],
    ['ServerDown.jobs=', 'a regular expression'],
    ['ServerDown.jobs=(', 'a regular expression'],
    ['ServerDown.jobs=a{2000}', 'a regular expression'],
    ['ServerDown.jobs=(?=a)', 'a regular expression'],
    ['ServerDown.jobs=[]a', 'a regular expression'],
    ['ServerDown.jobs=a"} or vector(1) #', 'a regular expression'],
    [`ServerDown.jobs=${long}`, 'a regular expression'],
    ['hostLabels=', 'names of labels'],
    ['hostLabels=instance,', 'names of labels'],
    ['hostLabels=instance) or vector(1', 'names of labels'],
    ['hostLabels=hostname', 'instance among them'],
    ...['provider', 'model', 'state', 'reason', 'phase', 'outcome', 'class', 'job', 'alertname', 'severity'].map(
      (label): [string, string] => [`hostLabels=instance,${label}`, 'none of turnwatch or the rules'],
    ),
    ['clusterLabels=', 'names of labels'],
    ['clusterLabels=instance', 'besides job and instance'],
    ['clusterLabels=cluster,job', 'besides job and instance'],
    ['gap=0s', 'a time as Prometheus writes it'],
    ['gap=1', 'a time as Prometheus writes it'],
    ['hostLabels=instance,le', 'none of turnwatch'],
    ['hostLabels=__name__', 'names of labels'],
    ['grafana=localhost:3000', 'an address that begins with http:// or https://'],
    ['grafana=javascript://x', 'an address that begins with http:// or https://'],
    ['grafana=https://x/{{ $labels.job }}', 'an address'],
    ['grafana=https://x/"', 'an address'],
    ['grafana=https://x\u0085groups: []', 'an address'],
    ['grafana=https://x\u2028groups', 'an address'],
    [`runbooks=https://${long}`, 'an address'],
    ['runbooks=https://x\nrules: []', 'an address'],
    ['__proto__.x=1', 'an alert is one of'],
    ['TurnStale.__proto__=1', 'a knob of TurnStale is one of'],
    ['TurnStale.constructor=1', 'a knob of TurnStale is one of'],
    ['__proto__=1', 'a knob of the pack is one of hostLabels, clusterLabels, gap, runbooks, grafana'],
    ['toString=1', 'a knob of the pack is one of'],
  ])('%j', (set, allowed) => {
    const refusal = (() => {
      try {
        makePack({ set: [set] })
      } catch (error) {
        return error
      }
      return undefined
    })()
    expect(refusal).toBeInstanceOf(BadInput)
    const { message } = refusal as BadInput
    expect(message).toMatch(/^--set /)
    expect(message).toContain(allowed)
    expect(message).not.toMatch(/[\n\r\u0085\u2028]/)
    expect(message.length).toBeLessThan(800)
  })

  it('an alert that is none, or is both enabled and disabled', () => {
    expect(() => makePack({ disable: ['turnstale'] })).toThrow('--disable turnstale: an alert is one of TurnStale')
    expect(() => makePack({ enable: ['toString'] })).toThrow('--enable toString: an alert is one of')
    expect(() => makePack({ enable: ['WaitLong'], disable: ['WaitLong'] })).toThrow('--disable WaitLong: is both')
  })
})

it('whatever is set either is refused as bad input, or makes rules that can be read', () => {
  const knobs = ALERTS.flatMap(({ name, knobs }) =>
    ['severity', 'for', ...Object.keys(knobs)].map((knob) => `${name}.${knob}`),
  )
  const name = fc.constantFrom(...knobs, ...Object.keys(PACK_KNOBS))
  const likely = fc.constantFrom(
    '5m',
    '1h30m',
    '0s',
    '0.25',
    '7',
    '30',
    'info',
    'instance,b',
    'https://a.example/b',
    'a|b.*',
    '[a-c]+',
  )
  const value = fc.oneof(likely, likely, fc.string({ unit: 'binary' }), fc.double().map(String))
  let taken = 0
  fc.assert(
    fc.property(name, value, (knob, text) => {
      let pack: ReturnType<typeof makePack>
      try {
        pack = makePack({ set: [`${knob}=${text}`] })
      } catch (error) {
        expect(error).toBeInstanceOf(BadInput)
        return
      }
      taken++
      const [header = '', groups = ''] = plainFile(pack).split(/^(?=groups:)/m)
      expect(header).toMatch(/^# [^\n\r\u0085\u2028\u2029]*\n$/)
      const rules = (parse(groups) as { groups: { rules: { expr: string }[] }[] }).groups.flatMap(
        (group) => group.rules,
      )
      expect(rules).toHaveLength(44)
      for (const { expr } of rules) expect(() => parsePromQL(expr)).not.toThrow()
    }),
    { numRuns: 400 },
  )
  expect(taken).toBeGreaterThan(2)
})

it('every knob says when to change it', () => {
  const help = ALERTS.flatMap(({ knobs }) => Object.values(knobs).map((knob) => knob.help))
  for (const text of [...help, ...Object.values(PACK_KNOBS_HELP)]) expect(text).toMatch(/^[A-Z].{15,}[^.]$/)
})

describe.concurrent('the command', () => {
  const rules = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await turnwatch(['rules', ...args]).ended
    return { code, stderr, stdout: stdout.toString() }
  }
  const shipped = (name: string) => readFileSync(RULES + name, 'utf8')

  it('prints one file with all rules', async () => {
    const { code, stdout, stderr } = await rules()
    expect([code, stderr]).toEqual([0, ''])
    const groups = (text: string) => (parse(text) as { groups: unknown[] }).groups
    const files = ['turnwatch-recording.yaml', 'turnwatch-alerts.yaml']
    expect(groups(stdout)).toEqual(files.flatMap((name) => groups(shipped(name))))
  })

  it('prints the resource of the operator', async () => {
    expect((await rules('--format', 'crd')).stdout).toBe(shipped('kubernetes/prometheusrule.yaml'))
    const { stdout } = await rules('--format', 'crd', '--json')
    expect(JSON.parse(stdout)).toEqual(parse(shipped('kubernetes/prometheusrule.yaml')))
  })

  it('sets, disables and enables, and says so in the file', async () => {
    const { stdout } = await rules('--set', 'TurnStale.for=2m', '--disable', 'WaitLong', '--enable', 'MetricsAbsent')
    expect(stdout.split('\n')[0]).toContain('--set TurnStale.for=2m --disable WaitLong --enable MetricsAbsent')
    expect(stdout).toContain('alert: MetricsAbsent')
    expect(stdout).not.toContain('alert: WaitLong')
  })

  it('writes the files and says which', async () => {
    const folder = newPath()
    const { code, stdout } = await rules('--out', folder)
    const written = Object.entries(packFiles(makePack())).map(([name, text]) => [join(folder, name), text] as const)
    expect([code, stdout]).toEqual([0, written.map(([file]) => `${file}\n`).join('')])
    for (const [file, text] of written) expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('does not undo the knobs of the files that are there, unless it is told to', async () => {
    const folder = newPath()
    const header = () => readFileSync(join(folder, 'turnwatch-alerts.yaml'), 'utf8').split(':')[0]
    const jobs = ['--set', 'ServerDown.jobs=bots|agents']
    await rules('--out', folder, ...jobs, '--set', 'TurnStale.for=2m', '--disable', 'WaitLong')
    const refused = await rules('--out', folder, '--set', 'TurnStale.for=3m')
    expect(refused).toEqual({
      code: 2,
      stdout: '',
      stderr: `turnwatch: --out ${folder}: turnwatch-alerts.yaml there was made with --set "ServerDown.jobs=bots|agents" --disable WaitLong: repeat them, or add --replace\n`,
    })
    expect(header()).toContain('--set TurnStale.for=2m')
    // Another value is a change that is meant, and so is enabling what was disabled.
    const repeated = await rules('--out', folder, ...jobs, '--set', 'TurnStale.for=3m', '--enable', 'WaitLong')
    expect([repeated.code, header()]).toEqual([0, expect.stringContaining('--set TurnStale.for=3m --enable WaitLong')])
    expect([(await rules('--out', folder, '--replace')).code, header()]).toEqual([
      0,
      '# Generated by `turnwatch rules`',
    ])
    expect((await rules('--out', folder)).code).toBe(0)
  })

  it('takes a file of somebody else for one without knobs', async () => {
    const folder = newPath()
    mkdirSync(folder)
    writeFileSync(join(folder, 'turnwatch-alerts.yaml'), '# ours, --set TurnStale.for=2m\ngroups: []\n')
    expect((await rules('--out', folder)).code).toBe(0)
  })

  it('lists alerts and knobs, for people and for programs', async () => {
    const { stdout } = await rules('--list', '--set', 'TurnStale.hold=20m')
    expect(stdout).toMatch(
      /\n {2}TurnStale: Turns are stale\.\n {4}severity=warning for=1m\n {4}hold=20m {2,}How long /,
    )
    expect(stdout).toContain('\n  MetricsAbsent (off): ')
    expect(stdout).toMatch(/\n {2}hostLabels=instance,pod,container,node {2,}Labels that differ /)
    const lines = (await rules('--list', '--json')).stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).alert)).toEqual(ALERTS.map(({ name }) => name))
    expect(JSON.parse(String(lines[0]))).toEqual({
      alert: 'TurnStale',
      group: 'turnwatch-turns',
      enabled: true,
      knobs: { severity: 'warning', for: '1m', hold: '10m' },
      help: { hold: expect.any(String) },
      summary: 'Turns are stale.',
    })
  })

  it.each([
    [['--set', 'TurnStale.for=soon'], /^turnwatch: --set TurnStale\.for=soon: a time .*\n$/],
    [['--set', 'TurnStale.for=1m\n2m'], /^turnwatch: --set "TurnStale\.for=1m\\n2m": .*\n$/],
    [['--set'], /^turnwatch: .*--set.*\n$/],
    [['--disable', 'Nothing'], /^turnwatch: --disable Nothing: an alert is one of .*\n$/],
    [['--format', 'helm'], /^turnwatch: .*helm.*plain, crd.*\n$/],
    [['--out', join(newPath(), 'x'), '--json'], /^turnwatch: rules: --out writes every file; .*\n$/],
    [['--replace'], /^turnwatch: rules: --replace goes with --out\n$/],
    [['--out', fileURLToPath(import.meta.url)], /^turnwatch: --out \S+: is a file, and not a folder\n$/],
    [['--out', '/dev/null/x'], /^turnwatch: --out \/dev\/null\/x: .*\n$/],
    [['TurnStale'], /^turnwatch: .*\n$/],
  ])('refuses %j in one line, with exit code 2', async (args, line) => {
    const { code, stdout, stderr } = await rules(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(line)
  })

  it('writes nothing when a knob is wrong', async () => {
    const folder = newPath()
    expect((await rules('--out', folder, '--set', 'WaitLong.seconds=-1')).code).toBe(2)
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([])
  })
})
