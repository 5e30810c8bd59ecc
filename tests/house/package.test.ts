import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The least that `engines` allows. */
const OLDEST_NODE = '22.16.0'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'turnwatch-package-'))
const installed = join(folder, 'node_modules', 'turnwatch')
const { exports, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>
  dependencies: Record<string, string>
}

/** Packs the package as it would be published, and lays it into a project of its own. */
beforeAll(() => {
  const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root, encoding: 'utf8' })
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('[\n'))) as [{ filename: string }]
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1'])
  for (const name of [
    ...Object.keys(dependencies),
    '@opentelemetry/api',
    'tdigest',
    'bintrees',
    '@types/node',
    'undici-types',
  ]) {
    const target = join(folder, 'node_modules', name)
    mkdirSync(join(target, '..'), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), target, 'dir')
  }
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function node(args: string[]) {
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
}

describe('the package as published', () => {
  const entries = Object.keys(exports).filter((name) => typeof exports[name] !== 'string')

  it.each(entries)('%s can be imported', (entry) => {
    const name = entry.replace('.', 'turnwatch')
    const run = node(['--input-type=module', '-e', `console.log(Object.keys(await import('${name}')).length > 0)`])
    expect([run.stderr, run.stdout]).toEqual(['', 'true\n'])
  })

  it.each(Object.keys(exports).filter((name) => typeof exports[name] === 'string'))('%s can be resolved', (entry) => {
    const example = { './rules/*.yaml': 'turnwatch-alerts', './dashboards/*.json': 'turnwatch-overview' }[entry] ?? ''
    const name = entry.replace('.', 'turnwatch').replace('*', example)
    const script = `console.log(import.meta.resolve('${name}').slice(7))`
    const run = node(['--input-type=module', '-e', script])
    expect([run.stderr, existsSync(run.stdout.trim())]).toEqual(['', true])
  })

  it('its command writes the rules and dashboards that it has', () => {
    const main = join(installed, 'dist', 'cli', 'main.js')
    for (const what of ['rules', 'dashboards']) {
      const run = node([main, what, '--out', join(folder, what)])
      expect([what, run.stderr, run.status]).toEqual([what, '', 0])
    }
    for (const file of ['rules/turnwatch-alerts.yaml', 'dashboards/turnwatch-overview.json']) {
      expect(readFileSync(join(folder, file), 'utf8')).toBe(readFileSync(join(installed, file), 'utf8'))
    }
  })

  it('its types compile in a strict project', () => {
    const uses = entries.map(
      (entry, i) => `import * as entry${i} from '${entry.replace('.', 'turnwatch')}'\nvoid entry${i}\n`,
    )
    writeFileSync(join(folder, 'uses.ts'), uses.join(''))
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--skipLibCheck',
      'false',
      '--types',
      'node',
    ]
    const run = node([tsc, ...options, 'uses.ts'])
    expect(run.stdout.split('\n').filter((line) => line.includes('turnwatch'))).toEqual([])
  })

  it('its types need no types of Node', () => {
    writeFileSync(join(folder, 'plain.ts'), "import { createTurnwatch } from 'turnwatch'\nvoid createTurnwatch()\n")
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const run = node([
      tsc,
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      '',
      'plain.ts',
    ])
    expect(run.stdout).toBe('')
  })

  it('runs on the oldest Node that it says it does, store included', () => {
    const older = join(folder, 'older')
    mkdirSync(older)
    writeFileSync(join(older, 'package.json'), '{}')
    execFileSync('npm', ['install', '--no-audit', '--no-fund', `node@${OLDEST_NODE}`], { cwd: older, stdio: 'ignore' })
    const main = join(installed, 'dist', 'cli', 'main.js')
    const old = (...args: string[]) =>
      spawnSync(join(older, 'node_modules', '.bin', 'node'), args, { cwd: folder, encoding: 'utf8' })
    expect(old('--version').stdout.trim()).toBe(`v${OLDEST_NODE}`)
    expect(old(main, 'replay', '--check').stdout).toBe('56 of 56 as expected\n')
    const traces = join(installed, 'examples', 'traces')
    expect([
      old(main, 'learn', '--store', 'old.db', traces).stderr,
      old(main, 'thresholds', '--store', 'old.db').stdout,
    ]).toEqual(['', expect.stringContaining('claude-opus-4-6')])
  }, 180_000)

  it('its command replays its scenarios', () => {
    const run = node([join(installed, 'dist', 'cli', 'main.js'), 'replay', '--check'])
    expect([run.stderr, run.stdout]).toEqual(['', '56 of 56 as expected\n'])
  })
})
