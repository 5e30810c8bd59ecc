/** Writes the files that are generated and checked in: rules, dashboards and docs. Run it by `npx node build-files.ts`; tests hold them current. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dashboardFiles } from './dashboards/built.ts'
import { metricsDoc } from './docs/metrics.ts'
import { ALERTS_FILE, packFiles } from './rules/files.ts'
import { ALERTS, makePack } from './rules/pack.ts'

/** Every generated file by its path in the checkout. */
export function generatedFiles(): Record<string, string> {
  return {
    ...within('rules', packFiles(makePack())),
    'rules/tests/all-enabled.rules.yaml': allEnabled(),
    ...within('dashboards', dashboardFiles()),
    'docs/metrics.md': metricsDoc(),
  }
}

/** The alerts with those that the pack leaves out, so that their tests run as they lie there. */
function allEnabled(): string {
  const off = ALERTS.filter((alert) => alert.off).map(({ name }) => name)
  return packFiles(makePack({ enable: off }))[ALERTS_FILE] as string
}

function within(folder: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]))
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(generatedFiles())) {
    const target = fileURLToPath(new URL(name, import.meta.url))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
}
