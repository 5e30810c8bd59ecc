import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, test, vi } from 'vitest'
import { rulesCommand } from '../../cli/rules.ts'
import { catalogue, type MetricName, PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import { labelValues } from '../../instrumentation/metrics/label-values.ts'
import { makePack } from '../../rules/pack.ts'
import { turnwatch } from '../command/harness.ts'
import { receiver } from '../command/receiver.ts'
import { type Matcher, parse, parts, selectors } from '../promql/promql.ts'
import { root } from './example-prometheus.ts'
import { RUNBOOKS } from './runbook-page.ts'

const { alerts, recordings } = makePack()
const folder = mkdtempSync(join(tmpdir(), 'turnwatch-runbooks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every alert has a runbook, and every runbook an alert', () => {
  expect(RUNBOOKS.map(({ name }) => name).sort()).toEqual(alerts.map(({ alert }) => alert.name).sort())
})

test.skipIf(inject('missing').includes('prometheus'))('Prometheus can read every query of the runbooks', () => {
  const file = join(folder, 'queries.yaml')
  const rules = RUNBOOKS.flatMap(({ name, queries }) =>
    queries.map((expr, i) => ({ record: `page:${name}:${i}`, expr })),
  )
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'runbooks', rules }] }))
  const { status, stdout, stderr } = spawnSync('/usr/bin/promtool', ['check', 'rules', file], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(`${rules.length} rules found`)
})

describe.each(RUNBOOKS)('the runbook of $name', ({ name, text, title, lead, sections, queries, commands, links }) => {
  const one = alerts.find(({ alert }) => alert.name === name)

  test('begins with what the alert says of itself', () => {
    const wait = one?.knobs.for === '0s' ? 'at once' : `after ${one?.knobs.for}`
    expect([title, lead]).toEqual([
      name,
      `${one?.alert.summary} \`${one?.alert.severity}\`, ${wait}. Dashboard: ${one?.alert.dashboard.uid}.`,
    ])
  })

  test('has the four sections, and is short', () => {
    expect(sections).toEqual(['Meaning', 'Impact', 'Diagnosis', 'Mitigation'])
    expect(text.split('\n').length).toBeLessThanOrEqual(55)
    expect(text.split('\n').filter((line) => line.length > 150)).toEqual([])
  })

  test('asks Prometheus only for what is there', () => {
    expect(queries.length).toBeGreaterThan(0)
    expect(queries.flatMap(wrongIn)).toEqual([])
    const named = [...text.matchAll(/`(turnwatch_\w+)/g)].map(([, metric]) => metric as string)
    expect(named.filter((metric) => labelsOf(metric) === null)).toEqual([])
  })

  test('names alerts and files that are there', () => {
    const names = [...alerts.map(({ alert }) => alert.name), 'OpenCode', 'OpenTelemetry']
    const words = [...text.matchAll(/(?<![\w/.])[A-Z][a-z]+(?:[A-Z][a-z]+)+(?!\w)/g)].map(([word]) => word)
    expect(words.filter((word) => !names.includes(word))).toEqual([])
    expect(links.filter((link) => !/^https:/.test(link) && !existsSync(join(root, 'rules/runbooks', link)))).toEqual([])
  })

  test('says which knob of the alert to turn', () => {
    const rules = commands.filter((command) => command.startsWith('turnwatch rules'))
    expect(rules.filter((command) => new RegExp(`--(set|disable|enable) ${name}\\b`).test(command))).not.toEqual([])
  })

  test('gives commands that turnwatch takes', async () => {
    const own = commands.filter((command) => command.startsWith('turnwatch '))
    for (const command of own) expect([command, await accepted(command)]).toEqual([command, true])
  })
})

/** What of an expression is not in the catalogue or the pack. */
function wrongIn(query: string): string[] {
  const expr = parse(query)
  const read = selectors(expr).map(({ selector }) => selector)
  const known = new Set(read.flatMap(({ name }) => labelsOf(name) ?? []))
  const grouped = [
    ...parts(expr, 'aggregation').flatMap(({ labels }) => labels),
    ...parts(expr, 'binary').flatMap(({ matching }) => [...(matching?.labels ?? []), ...(matching?.include ?? [])]),
  ]
  return [
    ...read.filter(({ name }) => labelsOf(name) === null).map(({ name }) => `no metric ${name} in ${query}`),
    ...read.flatMap(({ name, matchers }) =>
      matchers
        .filter((matcher) => !canMatch(name, matcher))
        .map(({ label }) => `no such ${label} of ${name} in ${query}`),
    ),
    ...grouped.filter((label) => !known.has(label)).map((label) => `no label ${label} in ${query}`),
  ]
}

/** The labels of a metric as a query sees it; null for one that is not there. */
function labelsOf(name: string): readonly string[] | null {
  const ofTarget = ['job', 'instance']
  if (name === 'up') return ofTarget
  if (recordings.some(({ record }) => record === name)) {
    const [level = ''] = name.split(':')
    return [...new Set(['job', ...level.split('_')])]
  }
  const base = metricOf(name)
  if (base === null) return null
  return [...ofTarget, ...catalogue[base].labels, ...(name.endsWith('_bucket') ? ['le'] : [])]
}

function metricOf(name: string): MetricName | null {
  if (!name.startsWith(PREFIX)) return null
  const own = name.slice(PREFIX.length)
  if (Object.hasOwn(catalogue, own)) return own as MetricName
  const base = own.replace(/_(bucket|count|sum)$/, '')
  const isHistogram = Object.hasOwn(catalogue, base) && catalogue[base as MetricName].type === 'histogram'
  return isHistogram ? (base as MetricName) : null
}

/** Whether a matcher is of a label that is there, and finds one of its values where those are known. */
function canMatch(name: string, { label, op, value }: Matcher): boolean {
  if (!labelsOf(name)?.includes(label)) return false
  const base = metricOf(name)
  if (base === null || !(catalogue[base].labels as readonly string[]).includes(label)) return true
  const values = labelValues(base, label)
  if (values === null) return true
  return op.endsWith('~')
    ? value.split('|').every((part) => values.some((one) => new RegExp(`^(?:${part})$`).test(one)))
    : values.includes(value)
}

/** Whether the command line takes it, with files and addresses of this test. */
async function accepted(command: string): Promise<boolean> {
  const words = command
    .replace(/ < \S+$/, '')
    .split(' ')
    .slice(1)
    // A folder of its own: rules refuses to undo what another command has set.
    .map((word, i, all) => (all[i - 1] === '--out' ? mkdtempSync(join(folder, word)) : word))
  if (words[0] === 'rules') {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    try {
      await rulesCommand().exitOverride().parseAsync(words.slice(1), { from: 'user' })
      return true
    } finally {
      write.mockRestore()
    }
  }
  const env = { XDG_STATE_HOME: join(folder, 'state') }
  const { code, stderr } = await turnwatch(await runnable(words), { env }).ended
  if (code !== 0) throw new Error(`${command}: ${stderr}`)
  return true
}

async function runnable([command = '', ...words]: string[]): Promise<string[]> {
  switch (command) {
    case 'run':
      return [command, ...words, '--', 'true']
    case 'learn':
      return [command, join(root, 'examples/traces/claude.jsonl')]
    case 'thresholds': {
      const store = join(folder, 'learned.db')
      await turnwatch(['learn', '--store', store, join(root, 'examples/traces/claude.jsonl')]).ended
      return [command, ...words.map((word) => (word === 'STORE' ? store : word))]
    }
    case 'notify': {
      const { port } = await receiver([200])
      return [command, ...words.map((word) => word.replace('ALERTMANAGER:9093', `127.0.0.1:${port}`))]
    }
    default:
      return [command, ...words]
  }
}
