/** Brings the 2.x line of OpenTelemetry: installs it beside this file as its lock file has it, or says why it cannot. */

import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const INSTALL = [
  'ci',
  '--ignore-scripts',
  '--omit=optional',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
  // A machine without network should hear of it soon.
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
]

/**
 * Installs the packages unless they are there as the lock file has them. False when they cannot be had, which a line on
 * stderr says: what needs them is to be skipped. Throws instead where the environment has `CI=true`. Only one suite may
 * call it.
 */
export async function installOpenTelemetry2(): Promise<boolean> {
  if (installed()) return true
  const names = Object.keys((JSON.parse(readFileSync(here('package.json'), 'utf8')) as Package).dependencies).join(', ')
  process.stderr.write(`installing npm packages: ${names}\n`)
  try {
    // The npm at hand, run by this Node.
    const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }
    await promisify(execFile)('npm', INSTALL, { cwd: here('.'), env, timeout: 300_000 })
    return true
  } catch (error) {
    const line = `npm packages missing: ${names} (npm ci in tests/opentelemetry-2: ${reason(error)})`
    if (process.env.CI === 'true') throw new Error(line)
    process.stderr.write(`${line}: their tests are skipped\n`)
    return false
  }
}

interface Package {
  readonly dependencies: Readonly<Record<string, string>>
}

/** npm writes this file when all the rest is in place. */
function installed(): boolean {
  const made = statSync(here('node_modules/.package-lock.json'), { throwIfNoEntry: false })
  return made !== undefined && made.mtimeMs >= statSync(here('package-lock.json')).mtimeMs
}

function reason(error: unknown): string {
  const { message, stderr } = error as { message: string; stderr?: string }
  const [first] = stderr?.match(/(?<=^npm error )\S.*/m) ?? [message.split('\n')[0]]
  return first ?? 'failed'
}

/** What the tests use of a line of the SDK; both lines have it, with the types of the newer one. */
export interface OpenTelemetry {
  readonly sdk: typeof import('@opentelemetry/sdk-metrics')
  readonly prometheus: typeof import('@opentelemetry/exporter-prometheus')
  readonly otlp: typeof import('@opentelemetry/exporter-metrics-otlp-http')
  readonly resources: typeof import('@opentelemetry/resources')
}

/** The packages as the package of a folder has them. */
export function openTelemetryOf(folder: URL): OpenTelemetry {
  const load = createRequire(new URL('package.json', folder))
  return {
    sdk: load('@opentelemetry/sdk-metrics'),
    prometheus: load('@opentelemetry/exporter-prometheus'),
    otlp: load('@opentelemetry/exporter-metrics-otlp-http'),
    resources: load('@opentelemetry/resources'),
  }
}
