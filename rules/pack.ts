/** The whole pack: every alert with its knobs set, and the recording rules. */

import { BadInput } from '../bad-input.ts'
import { catalogue } from '../instrumentation/metrics/catalogue.ts'
import { type Alert, type PackKnobs, SEVERITIES } from './alert.ts'
import { advisoryAlerts } from './alerts/advice.ts'
import { detectorAlerts } from './alerts/detector.ts'
import { hostAlerts } from './alerts/hosts.ts'
import { latencyAlerts } from './alerts/latency.ts'
import { notifierAlerts } from './alerts/notifier.ts'
import { turnAlerts } from './alerts/turns.ts'
import { type Knob, UNITS, WAIT } from './knob.ts'
import { type Recording, recordings } from './recording.ts'

export const ALERTS: readonly Alert[] = [
  ...turnAlerts,
  ...hostAlerts,
  ...detectorAlerts,
  ...notifierAlerts,
  ...latencyAlerts,
  ...advisoryAlerts,
]

/** The pack's own knobs as they are where nothing else is said. */
export const PACK_KNOBS: PackKnobs = {
  hostLabels: 'instance, pod, container, node',
  clusterLabels: 'cluster',
  gap: '1m',
  runbooks: 'https://unpkg.com/turnwatch@0.1/rules/runbooks',
  grafana: 'http://localhost:3000',
}

/** What they do, and when to change them. */
export const PACK_KNOBS_HELP: Readonly<Record<keyof PackKnobs, string>> = {
  hostLabels:
    'Labels that differ from host to host, all of them, instance too: repeat these and add yours, such as hostname',
  clusterLabels:
    'Labels that tell hosts apart whose job and instance are the same: the external label of your clusters, if it is another',
  gap: 'How long a host that misses scrapes counts as it was last seen; at least four scrapes',
  runbooks: 'Where the runbooks are read: an address of your own, if you have added to them',
  grafana: 'Where your Grafana is, for the links to the dashboards',
}

/** An alert with its knobs as they were set. */
export interface SetAlert {
  readonly alert: Alert
  readonly enabled: boolean
  /** All of them: `severity`, `for`, and the alert's own. */
  readonly knobs: Readonly<Record<string, Knob>>
}

export interface Pack {
  readonly knobs: PackKnobs
  readonly alerts: readonly SetAlert[]
  readonly recordings: readonly Recording[]
  /** What differs from the pack as it is shipped, in the words of the command line. */
  readonly changes: readonly string[]
}

export interface PackChanges {
  /** `Alert.knob=value`, or `knob=value` for a knob of the whole pack. */
  readonly set?: readonly string[]
  readonly disable?: readonly string[]
  readonly enable?: readonly string[]
}

/** Throws BadInput for an alert, knob or value that is none, with what is allowed. */
export function makePack({ set = [], disable = [], enable = [] }: PackChanges = {}): Pack {
  const packKnobs: Record<keyof PackKnobs, string> = { ...PACK_KNOBS }
  const knobs = new Map(ALERTS.map((alert) => [alert.name, ownKnobs(alert)]))
  const enabled = new Map(ALERTS.map((alert) => [alert.name, !alert.off]))
  for (const one of set) {
    const [, name, knob, value] = /^(?:(\w+)\.)?(\w+)=(.*)$/s.exec(one) ?? []
    if (knob === undefined || value === undefined) throw wrong('--set', one, 'Alert.knob=value or knob=value')
    if (name === undefined) {
      if (!isPackKnob(knob)) throw wrong('--set', one, `a knob of the pack is one of ${names(PACK_KNOBS)}`)
      packKnobs[knob] = packValue(one, knob, value)
    } else {
      const alert = ALERTS.find((one) => one.name === name)
      const own = knobs.get(name)
      if (alert === undefined || own === undefined) throw noAlert('--set', name)
      own[knob] = alertValue(one, alert, knob, value)
    }
  }
  for (const [option, list, is] of [
    ['--disable', disable, false],
    ['--enable', enable, true],
  ] as const) {
    for (const name of list) {
      if (!enabled.has(name)) throw noAlert(option, name)
      if (disable.includes(name) && enable.includes(name)) throw wrong(option, name, 'is both enabled and disabled')
      enabled.set(name, is)
    }
  }
  return {
    knobs: packKnobs,
    alerts: ALERTS.map((alert) => ({
      alert,
      enabled: enabled.get(alert.name) as boolean,
      knobs: knobs.get(alert.name) as Record<string, Knob>,
    })),
    recordings: recordings(packKnobs),
    changes: [
      ...set.map((one) => `--set ${quoted(one)}`),
      ...disable.map((name) => `--disable ${name}`),
      ...enable.map((name) => `--enable ${name}`),
    ],
  }
}

function ownKnobs(alert: Alert): Record<string, Knob> {
  const own = Object.entries(alert.knobs).map(([knob, { value }]) => [knob, value] as const)
  return { severity: alert.severity, for: alert.for ?? '0s', ...Object.fromEntries(own) }
}

function alertValue(one: string, { name, knobs }: Alert, knob: string, value: string): Knob {
  if (knob === 'severity') {
    if ((SEVERITIES as readonly string[]).includes(value)) return value
    throw wrong('--set', one, `a severity is one of ${SEVERITIES.join(', ')}`)
  }
  const definition = Object.hasOwn(knobs, knob) ? knobs[knob] : undefined
  const kind = knob === 'for' ? WAIT : definition && UNITS[definition.unit]
  if (kind === undefined)
    throw wrong('--set', one, `a knob of ${name} is one of ${['severity', 'for', ...Object.keys(knobs)].join(', ')}`)
  const read = kind.read(value)
  if (read === undefined) throw wrong('--set', one, kind.allowed)
  return read
}

function packValue(one: string, knob: keyof PackKnobs, value: string): string {
  if (knob === 'gap') {
    if (UNITS.time.read(value) !== undefined) return value
    throw wrong('--set', one, UNITS.time.allowed)
  }
  if (knob === 'hostLabels' || knob === 'clusterLabels') {
    const labels = [...new Set(value.split(',').map((label) => label.trim()))]
    const taken = labels.filter((label) => !/^[a-zA-Z]\w{0,99}$/.test(label) || OWN_LABELS.has(label))
    if (taken.length > 0 || labels.includes('instance') !== (knob === 'hostLabels'))
      throw wrong('--set', one, LABELS_ALLOWED[knob])
    return labels.join(', ')
  }
  // No braces, which would begin a template, and nothing that ends a line or a string.
  if (/^https?:\/\/[\w\-.~:/?#[\]@!$&'()*+,;=%]{1,500}$/.test(value)) return value.replace(/\/+$/, '')
  throw wrong('--set', one, 'an address that begins with http:// or https://')
}

const LABELS_ALLOWED = {
  hostLabels:
    'names of labels with commas between them, instance among them, such as instance,pod, and none of turnwatch or the rules',
  clusterLabels:
    'names of labels with commas between them, besides job and instance, and none of turnwatch or the rules',
}

/** Labels that the pack aggregates or matches by name, or sets. */
const OWN_LABELS: ReadonlySet<string> = new Set([
  ...['le', 'job', 'alertname', 'severity'],
  ...Object.values(catalogue).flatMap((one) => [...one.labels]),
])

function isPackKnob(knob: string): knob is keyof PackKnobs {
  return Object.hasOwn(PACK_KNOBS, knob)
}

function names(of: object): string {
  return Object.keys(of).join(', ')
}

function noAlert(option: string, name: string): BadInput {
  return wrong(option, name, `an alert is one of ${ALERTS.map((alert) => alert.name).join(', ')}`)
}

function wrong(option: string, value: string, allowed: string): BadInput {
  // A value that is too long to be read is cut.
  const short = value.length > 100 ? `${value.slice(0, 100)}…` : value
  return new BadInput(`${option} ${quoted(short)}: ${allowed}`)
}

/** On one line. */
function quoted(value: string): string {
  if (/^[\w.,:/=-]+$/.test(value)) return value
  // Beyond what JSON escapes, these end lines for some readers, YAML's among them.
  return JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
