import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { packageRoot } from '../../package-root.ts'
import { dashboards, panelsOf } from './dashboard.ts'

const root = packageRoot()
const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'turnwatch-dashboards-'))
  folders.push(made)
  return made
}

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['cli/main.ts', 'dashboards', ...args], {
    cwd: root,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

describe('turnwatch dashboards', () => {
  it('lists each dashboard with its title, panels and file', () => {
    const { status, stdout } = run()
    expect(status).toBe(0)
    for (const dashboard of dashboards()) {
      const line = stdout.split('\n').find((one) => one.includes(` ${dashboard.uid} `))
      expect(line).toContain(dashboard.title)
      expect(line).toContain(`${panelsOf(dashboard).length} panels`)
      expect(line).toContain(`${dashboard.uid}.json`)
    }
  })

  it('lists them as JSON', () => {
    const lines = run('--json').stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      dashboards().map((one) => ({
        uid: one.uid,
        title: one.title,
        description: one.description,
        panels: panelsOf(one).length,
        file: `${one.uid}.json`,
      })),
    )
  })

  it('writes their files and what provisions them, and names each', () => {
    const out = join(folder(), 'a', 'b')
    const { status, stdout } = run('--out', out)
    expect(status).toBe(0)
    const files = [
      ...dashboards().map(({ uid }) => `${uid}.json`),
      join('provisioning', 'dashboards', 'turnwatch.yaml'),
      join('provisioning', 'datasources', 'turnwatch.yaml'),
    ]
    const written = stdout.trimEnd().split('\n').sort()
    expect(written).toEqual(files.map((file) => join(out, file)).sort())
    expect(readdirSync(out, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())).toHaveLength(
      files.length,
    )
    for (const file of files) {
      expect(readFileSync(join(out, file))).toEqual(readFileSync(join(root, 'dashboards', file)))
    }
  })

  it('refuses a folder that cannot be one, in a line', () => {
    const file = join(folder(), 'file')
    writeFileSync(file, '')
    const { status, stdout, stderr } = run('--out', join(file, 'below'))
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^turnwatch: --out .*: .*ENOTDIR.*\n$/)
  })

  it('refuses --json with --out', () => {
    const { status, stderr } = run('--json', '--out', 'x')
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'turnwatch: dashboards: --out writes every file; it does not go with --json\n',
    })
  })
})
