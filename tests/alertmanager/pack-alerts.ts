/** Every alert of the pack with the labels that it arrives with, besides alertname and severity. */

import { ALERTS } from '../../rules/pack.ts'

/** Where an alert comes from. */
export interface Place {
  readonly job: string
  readonly instance: string
  readonly provider: string
}

const MODEL = 'claude-opus-4-6'

const host = ({ job, instance }: Place) => ({ job, instance })
const hostModel = (at: Place) => ({ ...host(at), provider: at.provider, model: MODEL })
const fleetModel = ({ job, provider }: Place) => ({ job, provider, model: MODEL })
const channel = (at: Place) => ({ ...host(at), channel: 'alertmanager' })

const LABELS: Readonly<Record<string, (at: Place) => Readonly<Record<string, string>>>> = {
  TurnStale: (at) => ({ ...hostModel(at), reason: 'silence' }),
  TurnFailed: (at) => ({ ...hostModel(at), reason: 'provider-error' }),
  ManyTurnsStale: host,
  ProviderStalled: ({ job, provider }) => ({ job, provider }),
  NoProgress: host,
  HostVanishedWithTurnsRunning: host,
  ServerDown: host,
  MetricsAbsent: () => ({}),
  HostSuspended: host,
  DetectorStopped: host,
  DetectorDisagrees: (at) => ({ ...host(at), thread: 'sub.boss.one' }),
  ThresholdExcessive: (at) => ({ ...hostModel(at), phase: 'mid-stream' }),
  FlagsRecovering: fleetModel,
  NotifierFailing: channel,
  NotifierBacklog: channel,
  FirstTokenSlow: fleetModel,
  EventGapSlow: (at) => ({ ...fleetModel(at), phase: 'mid-stream' }),
  TurnErrorRatioHigh: fleetModel,
  ToolOpenLong: hostModel,
  WaitLong: (at) => ({ ...host(at), reason: 'approval' }),
  TurnNotStarted: host,
  InterruptNotSettled: host,
  TurnNotSettled: host,
  SeriesOmitted: host,
  UnclassifiedEvents: (at) => ({ ...host(at), source: 'codex-exec-json', type: 'new.event' }),
  CatalogueMismatch: (at) => ({ ...host(at), version: '0.2.0', node_version: 'v24.0.0', catalogue: '2' }),
}

export const ALERT_NAMES = Object.keys(LABELS)

/** All labels of an alert of the pack. */
export function packAlert(name: string, at: Place): Record<string, string> {
  const labels = LABELS[name]
  const alert = ALERTS.find((one) => one.name === name)
  if (labels === undefined || alert === undefined) throw new Error(`the pack has no alert ${name}`)
  return { alertname: name, severity: alert.severity, ...labels(at) }
}

/** The alert that the notifier sends for a stale turn by itself. */
export function notifiersAlert({ provider }: Place): Record<string, string> {
  return {
    alertname: 'TurnStale',
    thread: 'sub.boss.one',
    provider,
    model: MODEL,
    reason: 'silence',
    source: 'turnwatch',
  }
}
