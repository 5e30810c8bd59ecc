import { spawnSync } from 'node:child_process'
import { describe, expect, inject, test } from 'vitest'
import { ALERTS } from '../../rules/pack.ts'
import { EXAMPLE } from './alertmanager-process.ts'
import { ALERT_NAMES, notifiersAlert, packAlert } from './pack-alerts.ts'

const PLACE = { job: 'turnwatch', instance: 'a:9464', provider: 'claudeAgent' }

const RECEIVERS = {
  pages: [
    'ManyTurnsStale',
    'ProviderStalled',
    'HostVanishedWithTurnsRunning',
    'ServerDown',
    'MetricsAbsent',
    'DetectorStopped',
  ],
  tickets: [
    'TurnStale',
    'NoProgress',
    'DetectorDisagrees',
    'NotifierFailing',
    'NotifierBacklog',
    'FirstTokenSlow',
    'EventGapSlow',
    'TurnErrorRatioHigh',
  ],
  notes: [
    'TurnFailed',
    'HostSuspended',
    'ThresholdExcessive',
    'FlagsRecovering',
    'ToolOpenLong',
    'WaitLong',
    'TurnNotStarted',
    'InterruptNotSettled',
    'TurnNotSettled',
    'SeriesOmitted',
    'UnclassifiedEvents',
    'CatalogueMismatch',
  ],
}

/** The receiver that the example's routes give an alert to. */
function receiverOf(labels: Readonly<Record<string, string>>): string {
  const { stdout, stderr, status } = spawnSync(
    '/usr/bin/amtool',
    ['config', 'routes', 'test', `--config.file=${EXAMPLE}`, ...Object.entries(labels).map((one) => one.join('='))],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(stderr)
  return stdout.trim()
}

test('the labels of every alert of the pack are known here', () => {
  expect([...ALERT_NAMES].sort()).toEqual(ALERTS.map(({ name }) => name).sort())
  expect(Object.values(RECEIVERS).flat().sort()).toEqual([...ALERT_NAMES].sort())
})

describe.skipIf(inject('missing').includes('prometheus-alertmanager'))("the example's routes", () => {
  test.each(Object.entries(RECEIVERS))('give to %s what belongs there', (receiver, names) => {
    expect(names.map((name) => [name, receiverOf(packAlert(name, PLACE))])).toEqual(
      names.map((name) => [name, receiver]),
    )
  })

  test("give the notifier's alert, which has no severity of its own, to where the rule's goes", () => {
    expect(receiverOf(notifiersAlert(PLACE))).toBe('tickets')
  })
})
