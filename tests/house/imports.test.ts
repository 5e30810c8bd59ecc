import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Which rooms a room may import. `facade` is the files at the root; `clients` are hosts and the command line. */
const ALLOWED: Record<string, readonly string[]> = {
  instrumentation: ['instrumentation'],
  detector: ['instrumentation', 'detector'],
  notifier: ['instrumentation', 'detector', 'notifier'],
  storage: ['instrumentation', 'detector', 'notifier', 'storage'],
  liveness: ['instrumentation', 'detector', 'notifier', 'liveness', 'facade'],
  facade: ['instrumentation', 'detector', 'notifier', 'storage', 'liveness/prism.ts', 'liveness/describe.ts', 'facade'],
  hosts: ['instrumentation', 'detector', 'notifier', 'storage', 'liveness', 'facade', 'hosts'],
  rules: ['instrumentation/metrics/catalogue.ts', 'bad-input.ts', 'rules'],
  dashboards: ['instrumentation/metrics/catalogue.ts', 'rules', 'dashboards'],
  cli: ['instrumentation', 'detector', 'notifier', 'storage', 'liveness', 'facade', 'hosts', 'rules', 'cli'],
}

/** What rooms may import that is neither theirs nor Node's. */
const PACKAGES: Record<string, readonly string[]> = {
  notifier: ['undici'],
  liveness: ['hono', '@hono/node-server', 'prom-client'],
  hosts: ['zod', 'undici', 'prom-client'],
  rules: ['yaml'],
  dashboards: ['@grafana/grafana-foundation-sdk', '@grafana/schema', 'uplot'],
  cli: ['commander'],
}

/** Optional peers, by the file that loads them when it is called. */
const PEERS: Record<string, readonly string[]> = {
  'instrumentation/metrics/otlp.ts': [
    '@opentelemetry/api',
    '@opentelemetry/exporter-metrics-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-metrics',
  ],
}

/** Files of the core that have its clocks, timers and processes. */
const EDGES: ReadonlySet<string> = new Set([
  'detector/process-watch.ts',
  'detector/system-clock.ts',
  'detector/watchdog/observed-time.ts',
  'instrumentation/taps/later.ts',
])

const files = Object.keys(ALLOWED)
  .flatMap((room) => (room === 'facade' ? readdirSync(root).filter(isSource) : sources(room)))
  .filter((file) => !['vitest.config.ts', 'build.ts', 'build-files.ts'].includes(file))

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(isSource)
    .map((file) => join(folder, file).split(sep).join('/'))
}

function isSource(file: string): boolean {
  return file.endsWith('.ts')
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found = text.matchAll(/(?:^|\n)(?:import|export)\b[^'"]*?from '([^']+)'|\bimport\('([^']+)'\)/g)
  return [...found].map((match) => (match[1] ?? match[2]) as string)
}

const roomOf = (file: string) => (file.includes('/') ? (file.split('/')[0] as string) : 'facade')

describe('import directions', () => {
  it.each(files)('%s imports only what its room may', (file) => {
    const room = roomOf(file)
    const wrong = importsOf(file).filter((specifier) => {
      if (specifier.startsWith('node:')) return false
      if (!specifier.startsWith('.')) {
        const name = specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/')
        return ![...(PACKAGES[room] ?? []), ...(PEERS[file] ?? [])].includes(name)
      }
      const target = relative(root, join(root, dirname(file), specifier))
        .split(sep)
        .join('/')
      const allowed = ALLOWED[room] as readonly string[]
      return !allowed.includes(roomOf(target)) && !allowed.includes(target)
    })
    expect(wrong).toEqual([])
  })

  it('the core calls no clock, timer or I/O itself', () => {
    const core = files.filter((file) => /^(instrumentation|detector)\//.test(file) && !EDGES.has(file))
    const calls =
      /\b(Date\.now\(|performance\.now\(|setTimeout\(|setInterval\(|setImmediate\(|fetch\()|node:(fs|net|http|os|child_process)/
    const code = (file: string) => readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    expect(core.filter((file) => calls.test(code(file)))).toEqual([])
  })
})

describe('importing an entry point', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string } | string>
  }
  const entries = Object.entries(exports).flatMap(([name, target]) =>
    typeof target === 'string'
      ? []
      : [[name, target.default.replace('./dist/', './').replace(/\.js$/, '.ts')] as const],
  )
  const bare = new Set(['.', './sources', './detector', './watchdog', './prom-client', './opentelemetry', './hosts/t3'])

  it.each(entries)('%s loads what it may', (name, file) => {
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ resolve(specifier, context, next) {
        const found = next(specifier, context)
        loaded.push(found.url)
        return found
      } })
      await import(${JSON.stringify(file)})
      const builtins = process.moduleLoadList.filter((one) => /sqlite/.test(one))
      console.log(JSON.stringify({ loaded, builtins }))`
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8' })
    const { loaded, builtins } = JSON.parse(run.stdout) as { loaded: string[]; builtins: string[] }
    expect(run.stderr).toBe('')
    expect(builtins).toEqual([])
    if (bare.has(name)) expect(loaded.filter((url) => url.includes('node_modules'))).toEqual([])
    expect(loaded.length).toBeGreaterThan(0)
  })
})
