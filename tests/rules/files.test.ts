import { readFileSync } from 'node:fs'
import { describe, expect, inject, it } from 'vitest'
import { stringify } from 'yaml'
import { generatedFiles } from '../../build-files.ts'
import {
  ALERTS_FILE,
  CRD_FILE,
  crdOf,
  packFiles,
  plainFile,
  RECORDING_FILE,
  recordingGroups,
} from '../../rules/files.ts'
import { ALERTS, makePack, type PackChanges } from '../../rules/pack.ts'
import { root } from '../command/harness.ts'
import { folderOf, program, promtool } from './promtool.ts'
import { RULES } from './rule-tests.ts'

const LONG = 300_000

it('the files that are checked in are those that the sources make', () => {
  const rules = Object.entries(generatedFiles()).filter(([name]) => name.startsWith('rules/'))
  const names = [RECORDING_FILE, ALERTS_FILE, CRD_FILE, 'tests/all-enabled.rules.yaml']
  expect(rules.map(([name]) => name)).toEqual(names.map((name) => `rules/${name}`))
  for (const [name, text] of rules)
    expect(text, `${name}: npx node build-files.ts`).toBe(readFileSync(root + name, 'utf8'))
})

it('what is known of each host is recorded every 15s, however seldom other rules are evaluated', () => {
  const [hosts] = recordingGroups(makePack())
  expect(hosts).toMatchObject({ name: 'turnwatch-hosts.rules', interval: '15s' })
})

/** Every knob away from its default at least once. */
const CHANGES: readonly PackChanges[] = [
  {},
  { enable: ALERTS.map(({ name }) => name) },
  { disable: ALERTS.map(({ name }) => name) },
  { set: ALERTS.flatMap(({ name }) => [`${name}.for=90s`, `${name}.severity=info`]) },
  { set: ALERTS.map(({ name }) => `${name}.for=0s`) },
  { set: ofUnit('time', '1h30m'), enable: ['MetricsAbsent'] },
  { set: [...ofUnit('seconds', '0.5'), ...ofUnit('share', '0.125'), ...ofUnit('count', '7')] },
  {
    set: [
      'ServerDown.jobs=(?:bots|agents)-[a-z]+.*',
      'hostLabels=instance,host',
      'clusterLabels=region,zone',
      'gap=4m',
      'runbooks=https://wiki.example.com/a%20b',
      'grafana=https://g.example.com/g',
    ],
  },
]

function ofUnit(unit: string, value: string): string[] {
  return ALERTS.flatMap(({ name, knobs }) =>
    Object.entries(knobs).flatMap(([knob, definition]) => (definition.unit === unit ? `${name}.${knob}=${value}` : [])),
  )
}

describe.skipIf(inject('missing').includes('prometheus'))('promtool and its lint have nothing to say', () => {
  const check = (...files: readonly string[]) => promtool('check', 'rules', '--lint=all', '--lint-fatal', ...files)

  it('of the two files that are shipped', { timeout: LONG }, async () => {
    expect(await check(RULES + RECORDING_FILE, RULES + ALERTS_FILE)).toEqual({
      code: 0,
      text: expect.stringMatching(/SUCCESS: 19 rules found[\s\S]*SUCCESS: 25 rules found/),
    })
  })

  it('of one file with all of it, nor of what the operator makes of its resource, whatever the knobs', {
    timeout: LONG,
  }, async () => {
    const files = CHANGES.flatMap((changes, i) => {
      const pack = makePack(changes)
      return [
        [`${i}-plain.yaml`, plainFile(pack)],
        [`${i}-crd.yaml`, stringify(crdOf(pack).spec)],
      ] as const
    })
    const folder = folderOf(Object.fromEntries(files))
    const { code, text } = await check(...files.map(([name]) => `${folder}/${name}`))
    expect(text).not.toMatch(/FAILED|error/i)
    expect([code, text.match(/SUCCESS/g)?.length]).toEqual([0, files.length])
  })
})

describe.skipIf(inject('missing').includes('victoria-metrics'))('vmalert takes the pack', () => {
  const dryRun = (...files: readonly string[]) =>
    program('/usr/bin/vmalert', ['-dryRun', ...files.map((file) => `-rule=${file}`)])

  it('as it is shipped', { timeout: LONG }, async () => {
    const { code, text } = await dryRun(RULES + RECORDING_FILE, RULES + ALERTS_FILE)
    expect(text).not.toMatch(/\t(fatal|panic|error)\t/)
    expect(code).toBe(0)
  })

  it('with its knobs set, but no pack that it cannot read', { timeout: LONG }, async () => {
    const files = packFiles(makePack(CHANGES.at(-1)))
    const folder = folderOf({
      'good.yaml': String(files[ALERTS_FILE]),
      'bad.yaml': 'groups: [{ name: a, rules: [{ alert: A, expr: "(" }] }]\n',
    })
    expect((await dryRun(`${folder}/good.yaml`)).code).toBe(0)
    expect((await dryRun(`${folder}/bad.yaml`)).code).not.toBe(0)
  })
})
