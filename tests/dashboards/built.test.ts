import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dashboardFiles } from '../../dashboards/built.ts'
import { STATES } from '../../dashboards/states.ts'
import { labelValues } from '../../instrumentation/metrics/label-values.ts'
import { packageRoot } from '../../package-root.ts'
import { ALERTS } from '../../rules/pack.ts'
import { dashboards } from './dashboard.ts'
import { RULES } from './lint/rules.ts'
import { counts } from './queries.ts'

describe('the built dashboards', () => {
  it.each(Object.entries(dashboardFiles()))('%s is what its source builds', (name, text) => {
    expect(readFileSync(join(packageRoot(), 'dashboards', name), 'utf8')).toBe(text)
  })

  it('are those that alerts link to', () => {
    expect(dashboards().map(({ uid }) => uid)).toEqual([
      'turnwatch-cache',
      'turnwatch-health',
      'turnwatch-overview',
      'turnwatch-thread',
    ])
  })

  it.each(ALERTS)('can be opened for what $name is about', ({ dashboard: { uid, labels } }) => {
    const variables = dashboards()
      .find((one) => one.uid === uid)
      ?.templating.list.map(({ name }) => name)
    expect(variables).toEqual(expect.arrayContaining([...labels]))
  })

  it('can be counted', () => {
    const { dashboards: all, panels, queries } = counts()
    expect(all).toBe(4)
    expect(panels).toBeGreaterThan(40)
    expect(queries).toBeGreaterThan(panels)
  })

  it('know every state of a turn', () => {
    expect(STATES).toEqual(labelValues('thread_state', 'state'))
  })

  describe.each(Object.entries(RULES))('%s', (_name, rule) => {
    it.each(dashboards().map((one) => [one.uid, one] as const))('%s', (_uid, dashboard) => {
      expect(rule(dashboard)).toEqual([])
    })
  })
})
