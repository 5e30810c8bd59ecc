/** The built dashboards as checks read them. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../package-root.ts'

export interface Target {
  readonly refId: string
  readonly expr: string
  readonly legendFormat?: string
  readonly instant?: boolean
  readonly format?: string
  readonly datasource?: Datasource
}

interface Datasource {
  readonly type: string
  readonly uid: string
}

interface PanelLink {
  readonly title: string
  readonly url: string
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: Datasource
  readonly targets?: readonly Target[]
  readonly links?: readonly PanelLink[]
  readonly interval?: string
  readonly options?: {
    readonly legend?: { readonly displayMode?: string; readonly sortBy?: string }
    readonly sortBy?: readonly { readonly displayName: string; readonly desc?: boolean }[]
  }
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit?: string
      readonly noValue?: string
      readonly mappings?: readonly Mapping[]
      readonly custom?: { readonly thresholdsStyle?: { readonly mode: string } }
      readonly links?: readonly PanelLink[]
      readonly thresholds?: { readonly steps: readonly { readonly value: number | null; readonly color: string }[] }
    }
    readonly overrides: readonly {
      readonly matcher: { readonly id: string; readonly options: unknown }
      readonly properties: readonly { readonly id: string; readonly value?: unknown }[]
    }[]
  }
}

interface Mapping {
  readonly type: string
  readonly options: unknown
}

export interface Variable {
  readonly name: string
  readonly label?: string
  readonly type: string
  readonly query: string
  readonly regex?: string
  readonly sort?: number
  readonly datasource?: Datasource
  readonly multi?: boolean
  readonly includeAll?: boolean
  readonly allValue?: string
  readonly refresh?: number
}

export interface Annotation {
  readonly name: string
  readonly expr: string
  readonly datasource: Datasource
}

interface DashboardLink {
  readonly type: string
  readonly tags: readonly string[]
  readonly keepTime: boolean
  readonly includeVars: boolean
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly description?: string
  readonly schemaVersion: number
  readonly editable: boolean
  readonly tags: readonly string[]
  readonly links: readonly DashboardLink[]
  readonly annotations: { readonly list: readonly Annotation[] }
  readonly templating: { readonly list: readonly Variable[] }
  readonly panels: readonly Panel[]
}

const folder = join(packageRoot(), 'dashboards')

export function dashboards(): Dashboard[] {
  const files = readdirSync(folder).filter((name) => /^turnwatch-.*\.json$/.test(name))
  return files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Dashboard)
}

/** All but the rows' titles. */
export function panelsOf({ panels }: Dashboard): Panel[] {
  return panels.filter(({ type }) => type !== 'row')
}
