/** `docs/t3.md`, followed to the letter: servers are built from its blocks, type-checked, and run on a virtual clock. */

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { installPackages } from '../../setup/npm-packages.ts'
import { blocksOf, follow } from './followed.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const here = join(root, 'tests', 'wires', 't3')
const blocks = blocksOf(readFileSync(join(root, 'docs', 't3.md'), 'utf8'))
const ENGINES = ['The first engine', 'The second engine', 'Both engines']

/** A server of T3's in a folder of its own, with what the documentation adds to it. */
class Server {
  readonly folder = mkdtempSync(join(tmpdir(), 'turnwatch-t3-'))
  readonly #skeleton: string

  constructor(skeleton: string, engine: string, effect: string) {
    this.#skeleton = join(here, skeleton)
    cpSync(this.#skeleton, this.folder, { recursive: true })
    for (const block of blocks) if ([engine, 'Both engines'].includes(block.section)) follow(block, this.folder)
    this.#link('effect', join(root, 'tests', 'wires', 'node_modules', effect))
    this.#link('@t3tools/contracts', join(this.folder, 'packages', 'contracts'))
    const onVirtualTime = join(here, 'on-virtual-time.ts')
    this.#provide('turnwatch', { '.': join(root, 'index.ts'), './hosts/t3': onVirtualTime })
    this.#provide('turnwatch-on-virtual-time', { '.': onVirtualTime })
    const paths = {
      turnwatch: [join(root, 'index.ts')],
      'turnwatch/hosts/t3': [join(root, 'hosts', 't3', 'index.ts')],
      'turnwatch-on-virtual-time': [onVirtualTime],
    }
    const compilerOptions = { typeRoots: [join(root, 'node_modules', '@types')], paths }
    const project = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['**/*.ts'], exclude: [] }
    writeFileSync(join(this.folder, 'tsconfig.json'), JSON.stringify(project))
  }

  #link(name: string, target: string): void {
    const link = join(this.folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(target, link, 'dir')
  }

  /** A package whose entries are files of the repository. */
  #provide(name: string, entries: Readonly<Record<string, string>>): void {
    const folder = join(this.folder, 'node_modules', name)
    mkdirSync(folder, { recursive: true })
    const exports = Object.fromEntries(Object.keys(entries).map((entry, i) => [entry, `./entry${i}.js`]))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', exports }))
    for (const [i, target] of Object.values(entries).entries()) {
      writeFileSync(join(folder, `entry${i}.js`), `export * from '${pathToFileURL(target)}'\n`)
    }
  }

  /** What the compiler says: nothing where all is well. */
  compile(): string {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const run = spawnSync(process.execPath, [tsc, '--noEmit', '--pretty', 'false', '-p', this.folder], {
      encoding: 'utf8',
    })
    return run.stdout + run.stderr
  }

  /** Runs its driver over a database that `seed` fills; gives what that prints and the folder of its state. */
  drive(seed: (db: DatabaseSync) => void, env: Readonly<Record<string, string>> = {}) {
    const state = mkdtempSync(join(tmpdir(), 'turnwatch-t3-state-'))
    onTestFinished(() => rmSync(state, { recursive: true }))
    const db = new DatabaseSync(join(state, 'state.sqlite'))
    seed(db)
    db.close()
    const { T3CODE_TURNWATCH: _, ...outer } = process.env
    const run = spawnSync(process.execPath, ['drive.ts', state], {
      cwd: this.folder,
      encoding: 'utf8',
      env: { ...outer, ...env },
    })
    expect([run.status, run.stderr]).toEqual([0, ''])
    return { outcome: JSON.parse(run.stdout) as Record<string, unknown>, state }
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8')
  }

  /** Files that the documentation changes or adds, apart from what it says for the fork's books. */
  changes(section: string): { readonly changed: string[]; readonly added: string[] } {
    const books = ['scripts/fork-upstream-edits.txt', 'docs/fork-features.md']
    const paths = new Set(
      blocks.filter((block) => [section, 'Both engines'].includes(block.section)).map((b) => b.path),
    )
    const [changed, added]: [string[], string[]] = [[], []]
    for (const path of [...paths].filter((one) => !books.includes(one)).sort()) {
      if (existsSync(join(this.#skeleton, path))) changed.push(path)
      else added.push(path)
    }
    return { changed, added }
  }
}

/** The features of the books, each of which is a block of JSON. */
function featuresOf(server: Server) {
  const feature = /^```json\n([\s\S]*?)^```$/gm
  return [...server.read('docs/fork-features.md').matchAll(feature)].map(
    ([, json = '']) =>
      JSON.parse(json) as { id: string; newFiles: string[]; upstreamFiles: string[]; sharedFiles: string[] },
  )
}

/** What `fork-check` wants: what is changed is allowed, and each allowed path has one owner. */
function expectGoodBooks(server: Server, section: string): void {
  const allowed = server
    .read('scripts/fork-upstream-edits.txt')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const features = featuresOf(server)
  const ours = features.at(-1)
  const { changed, added } = server.changes(section)
  // These two are changed by the package manager.
  const installed = ['apps/server/package.json', 'pnpm-lock.yaml']
  expect(features.flatMap(({ upstreamFiles }) => upstreamFiles).sort()).toEqual([...allowed].sort())
  expect([...(ours?.upstreamFiles ?? []), ...(ours?.sharedFiles ?? [])].sort()).toEqual(
    [...changed, ...installed].sort(),
  )
  expect(ours?.newFiles).toEqual(added)
}

const REFUSALS = [
  [401, { error: 'unauthorized' }],
  [403, { error: 'scope orchestration:read required' }],
  [400, { error: 'threadId required' }],
]

describe('a reader of the documentation', () => {
  it('finds blocks for every engine, and none that is for no engine', () => {
    expect([...new Set(blocks.map(({ section }) => section))]).toEqual(ENGINES)
  })

  it('is told when an edit fits nowhere, or at two places, or a new file is there already', () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwatch-t3-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'a.ts'), 'one\ntwo\none\n')
    const edit = (text: string) => () => follow({ section: '', path: 'a.ts', text, isEdit: true }, folder)
    expect(edit('-one\n+three\n')).toThrow('a.ts: these lines are there 2 times:\none\n')
    expect(edit('-tw\n+three\n')).toThrow('a.ts: these lines are there 0 times:\ntw\n')
    expect(() => follow({ section: '', path: 'a.ts', text: 'x\n', isEdit: false }, folder)).toThrow('is there already')
    edit(' one\n-two\n+three\n')()
    edit('+four\n')()
    expect(readFileSync(join(folder, 'a.ts'), 'utf8')).toBe('one\nthree\none\nfour\n')
  })
})

describe.skipIf(!(await installPackages('tests/wires')))('a server of the first engine, built as documented', () => {
  let server: Server
  beforeAll(() => {
    server = new Server('server-v1', 'The first engine', 'effect-beta')
    return () => rmSync(server.folder, { recursive: true })
  })

  /** Statistics that a detector of the fork's own has left. */
  function statistics(db: DatabaseSync): void {
    db.exec(`CREATE TABLE projection_thread_activities (activity_id TEXT PRIMARY KEY, thread_id TEXT, turn_id TEXT,
      tone TEXT, kind TEXT, summary TEXT, payload_json TEXT, created_at TEXT)`)
    const insert = db.prepare(`INSERT INTO projection_thread_activities (activity_id, kind, payload_json)
      VALUES (?, 'prism.stream-stats', ?)`)
    const payload = {
      provider: 'codex',
      model: 'gpt-5',
      outcome: 'completed',
      timeToFirstTokenMs: 4000,
      maxGapMs: 9000,
    }
    for (let i = 0; i < 20; i++) insert.run(`before-${i}`, JSON.stringify(payload))
  }

  it('type-checks', () => {
    expect(server.compile()).toBe('')
  })

  it('learns, finds the turn that runs, tells the parent once, records each end, and answers', () => {
    const { outcome, state } = server.drive(statistics)
    expect(outcome.errors).toEqual(REFUSALS)
    expect(outcome.standby).toMatchObject({ state: 'idle', turn: null })
    expect(outcome.restored).toMatchObject({ state: 'running', turn: { turnId: 'turn-of-before', model: 'gpt-5' } })
    const running = { state: 'running', phase: 'mid-stream', turn: { turnId: 'turn-1', provider: 'codex' } }
    expect(outcome.running).toMatchObject({ ...running, thresholdSource: 'measured', samples: 20 })
    expect(outcome.runningUntapped).toMatchObject(running)
    expect(outcome.toldEarly).toBe(0)
    expect(outcome.stale).toMatchObject({ stale: true, reason: 'silence', turn: { turnId: 'turn-2' }, episode: 1 })
    const commandId = 'server:prism-stale:sub.boss.one:turn-2:1:0'
    expect(outcome.told).toEqual([
      {
        type: 'thread.turn.start',
        commandId,
        threadId: 'boss',
        message: {
          messageId: commandId,
          role: 'user',
          text: expect.stringContaining('Child thread sub.boss.one (codex, gpt-5) has stopped streaming'),
          attachments: [],
        },
        runtimeMode: 'full-access',
        interactionMode: 'default',
        createdAt: expect.stringMatching(/^2026-01-01T/),
      },
    ])
    expect(outcome.requested).toMatchObject({ threadId: 'boss', state: 'requested' })
    expect(outcome.activities).toMatchObject([
      { thread_id: 'sub.boss.two', turn_id: 'turn-of-before', summary: expect.stringContaining('completed') },
      {
        thread_id: 'sub.boss.one',
        turn_id: 'turn-1',
        kind: 'prism.stream-stats',
        tone: 'info',
        summary: 'Stream completed: first token 4.0 s, max gap 4.0 s, 3 events',
      },
      { thread_id: 'sub.boss.one', turn_id: 'turn-2', summary: expect.stringContaining('aborted') },
      // The user has stopped it: its session is gone and nobody is told.
      { thread_id: 'sub.boss.one', turn_id: 'turn-3', summary: expect.stringContaining('aborted') },
    ])
    expect(outcome.hidden).toEqual([[], []])
    const logged = ['sub.boss.two', ...Array.from({ length: 8 }, () => 'sub.boss.one')]
    expect(outcome.logged).toEqual([logged, logged])
    expect(existsSync(join(state, 'turnwatch.sqlite'))).toBe(true)
  })

  it('does nothing of all that when it is switched off', () => {
    const { outcome, state } = server.drive(statistics, { T3CODE_TURNWATCH: '0' })
    expect(outcome.errors).toEqual(REFUSALS)
    expect([outcome.restored, outcome.running, outcome.stale, outcome.runningUntapped]).toEqual([
      503,
      503,
      503,
      undefined,
    ])
    expect([outcome.told, outcome.activities]).toEqual([[], []])
    expect(outcome.logged).toMatchObject([{ length: 9 }, { length: 9 }])
    expect(existsSync(join(state, 'turnwatch.sqlite'))).toBe(false)
  })

  it('has its changes in the books of the fork', () => {
    expectGoodBooks(server, 'The first engine')
  })
})

describe.skipIf(!(await installPackages('tests/wires')))('a server of the second engine, built as documented', () => {
  let server: Server
  beforeAll(() => {
    server = new Server('server-v2', 'The second engine', 'effect')
    return () => rmSync(server.folder, { recursive: true })
  })

  function statistics(db: DatabaseSync): void {
    db.exec(`CREATE TABLE fork_prism_stream_stats (run_id TEXT, provider_turn_id TEXT, thread_id TEXT, provider TEXT,
      model TEXT, outcome TEXT, started_at REAL, ended_at REAL, time_to_first_token_ms REAL, max_gap_ms REAL,
      event_count INTEGER, PRIMARY KEY (run_id, provider_turn_id))`)
    const insert = db.prepare(`INSERT INTO fork_prism_stream_stats
      VALUES (?, 'turn', 'thread', 'codex', 'gpt-5', 'completed', 0, 60000, 4000, 9000, 3)`)
    for (let i = 0; i < 20; i++) insert.run(`before-${i}`)
  }

  it('type-checks', () => {
    expect(server.compile()).toBe('')
  })

  it('follows attempts from begin to end, takes only what was stored or kept back, and tells the parent once', () => {
    const { outcome, state } = server.drive(statistics)
    expect(outcome.errors).toEqual(REFUSALS)
    expect(outcome.standby).toMatchObject({ state: 'idle', turn: null })
    expect(outcome.restored).toMatchObject({
      state: 'running',
      turn: { turnId: 'attempt-of-before', startedAt: '2025-12-31T23:00:00.000Z' },
      thresholdSource: 'measured',
      samples: 20,
    })
    const turn = { turnId: 'a1', provider: 'codex', model: 'gpt-5' }
    expect(outcome.keptBack).toMatchObject({ state: 'running', phase: 'mid-stream', turn, progressSilenceMs: 0 })
    expect(outcome.running).toMatchObject({ phase: 'mid-stream', progressSilenceMs: 0, parentThreadId: 'boss' })
    expect(outcome.completed).toMatchObject({ state: 'ended', turn: null })
    expect(outcome.rejected).toEqual([])
    expect(outcome.afterRejected).toMatchObject({ turn: { turnId: 'a2' }, progressSilenceMs: 50_000 })
    expect(outcome.stale).toMatchObject({ stale: true, reason: 'silence', turn: { turnId: 'a2' } })
    expect(outcome.withoutHooks).toMatchObject({ state: 'running', phase: 'mid-stream', turn: { turnId: 'h1' } })
    expect(outcome.afterLate).toMatchObject({ phase: 'first-token', turn: { turnId: 'a3' }, progressSilenceMs: 5000 })
    expect(outcome.closed).toMatchObject({ state: 'ended', turn: null })
    const commandId = 'server:prism-stale:child:a2:1:0'
    expect(outcome.commands).toEqual([
      {
        type: 'message.dispatch',
        commandId,
        threadId: 'boss',
        messageId: commandId,
        text: expect.stringContaining('Child thread child (codex, gpt-5) has stopped streaming'),
        attachments: [],
        createdBy: 'system',
        creationSource: 'server',
        dispatchMode: { type: 'queue_after_active' },
      },
    ])
    expect(existsSync(join(state, 'turnwatch.sqlite'))).toBe(true)
  })

  it('does nothing of all that when it is switched off', () => {
    const { outcome, state } = server.drive(statistics, { T3CODE_TURNWATCH: '0' })
    expect(outcome.errors).toEqual(REFUSALS)
    expect([outcome.restored, outcome.running, outcome.stale, outcome.withoutHooks]).toEqual([503, 503, 503, undefined])
    expect(outcome.commands).toEqual([])
    expect(existsSync(join(state, 'turnwatch.sqlite'))).toBe(false)
  })

  it('has its changes in the books of the fork', () => {
    expectGoodBooks(server, 'The second engine')
  })
})
