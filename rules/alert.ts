/** What an alert is before its knobs are set. */

import type { DashboardUid } from './dashboard-link.ts'
import { pathOf } from './dashboard-link.ts'
import type { Knob, KnobDefinition } from './knob.ts'

/** critical pages, warning is a ticket, info informs. */
export const SEVERITIES = ['critical', 'warning', 'info'] as const
export type Severity = (typeof SEVERITIES)[number]

/** What every rule may need to know of the pack. */
export interface PackKnobs {
  /** Labels that tell one host from another; aggregations over the fleet are without them. */
  readonly hostLabels: string
  /** Labels by which, besides job and instance, a host is known again. */
  readonly clusterLabels: string
  /** How long a host that missed scrapes counts as it was last seen. */
  readonly gap: string
  /** Where the runbooks are read, without a slash at its end. */
  readonly runbooks: string
  /** Where Grafana is, without a slash at its end. */
  readonly grafana: string
}

export interface Alert {
  readonly name: string
  readonly group: string
  readonly severity: Severity
  /** How long it must hold before it fires; absent where one evaluation is enough. */
  readonly for?: string
  /** Not part of the pack until it is enabled. */
  readonly off?: true
  /** Limits and windows, besides `severity` and `for`. */
  readonly knobs: Readonly<Record<string, KnobDefinition>>
  readonly expr: (knobs: Readonly<Record<string, Knob>>, pack: PackKnobs) => string
  /** A sentence that is the same for all alerts of a group. */
  readonly summary: string
  /** A sentence or two with what this one is about. */
  readonly description: (knobs: Readonly<Record<string, Knob>>) => string
  /** The dashboard that shows it, opened for the values of these labels. */
  readonly dashboard: { readonly uid: DashboardUid; readonly labels: readonly string[] }
}

/** The model in a description: hosts that do not know it leave the label empty. */
export const MODEL = '{{ or $labels.model "(model unknown)" }}'

type Knobs = Readonly<Record<string, KnobDefinition<number> | KnobDefinition<string>>>
type Values<K extends Knobs> = { readonly [N in keyof K]: K[N]['value'] }

interface Definition<K extends Knobs> extends Omit<Alert, 'name' | 'group' | 'knobs' | 'expr' | 'description'> {
  readonly knobs?: K
  readonly expr: (knobs: Values<K>, pack: PackKnobs) => string
  readonly description: string | ((knobs: Values<K>) => string)
}

/** An alert whose expression sees its knobs with their types. */
export function alert<K extends Knobs>(
  name: string,
  group: string,
  { knobs, description, ...rest }: Definition<K>,
): Alert {
  const text = typeof description === 'string' ? () => description : description
  return { ...rest, name, group, knobs: knobs ?? {}, description: text as Alert['description'] } as Alert
}

/** The address of its dashboard, with the values of its labels as variables. */
export function dashboardUrl({ dashboard }: Alert, { grafana }: PackKnobs): string {
  return grafana + pathOf(dashboard.uid, dashboard.labels)
}
