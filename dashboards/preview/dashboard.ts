/** Classic dashboard JSON, as far as the preview understands it. What it meets beyond that, it refuses. */

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly tags?: readonly string[]
  readonly schemaVersion: number
  readonly time?: { readonly from: string; readonly to: string }
  readonly panels: readonly Panel[]
  readonly templating?: { readonly list: readonly TemplateVariable[] }
  readonly annotations?: { readonly list: readonly AnnotationQuery[] }
  readonly links?: readonly DashboardLink[]
}

export interface GridPos {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title?: string
  readonly description?: string
  readonly gridPos: GridPos
  readonly collapsed?: boolean
  /** Of a collapsed row. */
  readonly panels?: readonly Panel[]
  readonly targets?: readonly Target[]
  readonly transformations?: readonly Transformation[]
  readonly fieldConfig?: { readonly defaults?: FieldConfig; readonly overrides?: readonly Override[] }
  readonly options?: Readonly<Record<string, unknown>>
  readonly interval?: string
  readonly maxDataPoints?: number
  readonly timeFrom?: string
  readonly repeat?: string
  readonly links?: readonly DataLink[]
}

export interface Target {
  readonly refId: string
  readonly expr: string
  readonly legendFormat?: string
  readonly instant?: boolean
  readonly range?: boolean
  readonly format?: string
  readonly interval?: string
  readonly hide?: boolean
}

export interface Transformation {
  readonly id: string
  readonly disabled?: boolean
  readonly options: Readonly<Record<string, unknown>>
}

export interface FieldConfig {
  readonly unit?: string
  readonly decimals?: number | null
  readonly min?: number | null
  readonly max?: number | null
  readonly noValue?: string
  readonly displayName?: string
  readonly color?: FieldColour
  readonly thresholds?: Thresholds
  readonly mappings?: readonly ValueMapping[]
  readonly links?: readonly DataLink[]
  readonly custom?: Readonly<Record<string, unknown>>
}

interface FieldColour {
  readonly mode: string
  readonly fixedColor?: string
}

export interface Thresholds {
  readonly mode: 'absolute' | 'percentage'
  readonly steps: readonly { readonly value: number | null; readonly color: string }[]
}

export interface ValueMapping {
  readonly type: string
  readonly options: unknown
}

export interface Override {
  readonly matcher: { readonly id: string; readonly options?: unknown }
  readonly properties: readonly { readonly id: string; readonly value?: unknown }[]
}

export interface DataLink {
  readonly title?: string
  readonly url?: string
  readonly targetBlank?: boolean
}

/** To the other dashboards that have its tags. */
interface DashboardLink {
  readonly type: string
  readonly tags?: readonly string[]
}

export interface TemplateVariable {
  readonly name: string
  readonly type: string
  readonly label?: string
  readonly hide?: number
  readonly multi?: boolean
  readonly includeAll?: boolean
  readonly allValue?: string | null
  readonly query?: string | { readonly query: string }
  readonly regex?: string
  readonly sort?: number
  readonly current?: { readonly value?: string | readonly string[] }
}

export interface AnnotationQuery {
  readonly name: string
  readonly enable?: boolean
  readonly hide?: boolean
  readonly iconColor?: string
  readonly expr?: string
  readonly step?: string
  readonly titleFormat?: string
  readonly textFormat?: string
  readonly tagKeys?: string
  /** `dashboard` is Grafana's own, which every dashboard has. */
  readonly type?: string
  readonly builtIn?: number
}

/** Panels as they are laid out, those inside collapsed rows only where `all` is asked for. */
export function panelsOf(dashboard: Dashboard, all: boolean): Panel[] {
  return dashboard.panels.flatMap((panel) => (all ? [panel, ...(panel.panels ?? [])] : [panel]))
}
