/** Brings the Debian programs that some suites need: installs them where it may, and says so where it may not. */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { TestProject } from 'vitest/node'

/** By the package that brings them. amtool comes with prometheus-alertmanager, promtool with prometheus, vmalert with victoria-metrics. */
const PROGRAMS = {
  prometheus: '/usr/bin/prometheus',
  'prometheus-alertmanager': '/usr/bin/prometheus-alertmanager',
  'victoria-metrics': '/usr/bin/victoria-metrics',
  chromium: '/usr/bin/chromium',
} as const
export type Program = keyof typeof PROGRAMS

declare module 'vitest' {
  interface ProvidedContext {
    missing: Program[]
  }
}

export default function setup(project: TestProject): void {
  let missing = missingPrograms()
  if (missing.length > 0 && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    install(missing)
    missing = missingPrograms()
  }
  if (missing.length > 0) {
    const line = `Debian packages missing: ${missing.join(', ')} (apt-get install ${missing.join(' ')})`
    if (process.env.CI === 'true') throw new Error(line)
    process.stderr.write(`${line}: their suites are skipped\n`)
  }
  project.provide('missing', missing)
}

function missingPrograms(): Program[] {
  return (Object.keys(PROGRAMS) as Program[]).filter((name) => !existsSync(PROGRAMS[name]))
}

function install(packages: readonly Program[]): void {
  process.stderr.write(`installing Debian packages: ${packages.join(', ')}\n`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  try {
    execFileSync('apt-get', ['update', '-qq'], { env, stdio: 'ignore', timeout: 180_000 })
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
      env,
      stdio: 'ignore',
      timeout: 600_000,
    })
  } catch (error) {
    process.stderr.write(`apt-get failed: ${(error as Error).message.split('\n')[0]}\n`)
  }
}
