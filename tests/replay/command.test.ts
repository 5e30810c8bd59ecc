import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'turnwatch-replay-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function turnwatch(args: string[], input = '') {
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state') }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['cli/main.ts', ...args], {
    cwd: root,
    input,
    env,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const line = (t: number, event: object = { type: 'turn.started' }) => JSON.stringify({ t, event })

describe('replay of a file that cannot be used', () => {
  const good = 'examples/traces/codex.jsonl'
  const timeline = (...entries: object[]) =>
    `{\n"timeline": [\n${entries.map((one) => JSON.stringify(one)).join(',\n')}\n]}`
  it.each([
    ['empty.jsonl', '', ':1: empty'],
    ['blank.jsonl', '\n \n', ':1: empty'],
    ['half.jsonl', `${line(0)}\n{"t":5,"event":{"ty`, ':2: not JSON: "{\\"t\\":5,\\"event\\":{\\"ty"'],
    ['text.jsonl', 'hello\n', ':1: not JSON: "hello"'],
    ['list.jsonl', '[1]\n', ':1: not a trace line {t, event}: "[1]"'],
    [
      'unknown.jsonl',
      line(0, { type: 'x' }),
      ':1: unknown source: no event of a wire format that is known; name it with --source',
    ],
    ['back.jsonl', `${line(10)}\n\n${line(9)}\n`, ':3: time goes backwards: t 9 after 10'],
    ['no-t.jsonl', `${line(0)}\n{"event":{}}`, ':2: t is missing, not a number of ms'],
    ['no-event.jsonl', '{"t":1}', ':1: no event'],
    ['dir.jsonl', '{"t":1,"dir":"up","event":{}}', ':1: dir is "up", neither "in" nor "out"'],
    ['empty.json', '', ':1: empty'],
    ['half.json', '{\n"timeline": [\n{"at": 0, "ki', ':3: not JSON'],
    ['no-timeline.json', '{\n}', ':1: timeline: Invalid input'],
    [
      'kind.json',
      timeline({ at: 0, kind: 'turn.started', turn: 'A' }, { at: 1, kind: 'tokn', turn: 'A' }),
      ':4: timeline[1] has unknown kind "tokn"',
    ],
    [
      'order.json',
      timeline({ at: 5, kind: 'host.poll' }, { at: 1, kind: 'host.poll' }),
      ':4: timeline[1] goes back in time: 1 after 5',
    ],
    ['at.json', timeline({ at: 'soon', kind: 'host.poll' }), ':3: timeline.0.at: Invalid input'],
    [
      'name.json',
      timeline({ at: 0, kind: 'turn.started', turn: 'A', model: 5 }),
      ':3: timeline[0] has model 5, not a string',
    ],
    [
      'often.json',
      timeline({ every: 1e-6, from: 0, to: 1e9, kind: 'token', stream: 'text', turn: 'A' }),
      ':3: timeline[0] repeats more than 10000000 times',
    ],
    ['turn.json', timeline({ at: 0, kind: 'turn.started' }), ':3: timeline[0] has no turn'],
  ])('%s: one line with file and line number, the others still run, exit 2', (name, text, message) => {
    const path = file(name, text)
    const { status, stdout, stderr } = turnwatch(['replay', '--json', path, good])
    expect(stderr.startsWith(`turnwatch: ${path}${message}`)).toBe(true)
    expect(stderr.trimEnd()).not.toContain('\n')
    expect(
      stdout
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one).id),
    ).toEqual(['codex'])
    expect(status).toBe(2)
  })

  it('a missing file, a wrong option and no file are bad input too', () => {
    for (const args of [
      ['no-such.jsonl'],
      ['--preset', 'bold', good],
      ['--source', 'x', good],
      ['--until', 'x', good],
      ['--until', '1e12', good],
      ['--nope', good],
      [],
    ]) {
      const { status, stderr } = turnwatch(['replay', ...args])
      expect(status).toBe(2)
      expect(stderr).not.toContain('    at ')
    }
    expect(turnwatch(['replay', 'no-such.jsonl']).stderr).toBe('turnwatch: no-such.jsonl: no such file\n')
  })
})

describe('replay', () => {
  it('--check over the scenarios of the package: exit 0', () => {
    expect(turnwatch(['replay', '--check'])).toEqual({ status: 0, stdout: '56 of 56 as expected\n', stderr: '' })
  })

  it('--check tells how a scenario differs: exit 1', () => {
    const path = file(
      'differs.json',
      JSON.stringify({ timeline: [{ at: 0, kind: 'turn.started', turn: 'A' }], until: 200_000, expect: [] }),
    )
    const { status, stdout } = turnwatch(['replay', '--check', path])
    expect(status).toBe(1)
    expect(stdout).toBe(`${path}\n  did not expect A stale silence first-token at 151000\n0 of 1 as expected\n`)
  })

  it("--json prints the documented keys, and nothing of the user's store is read or written", () => {
    const { stdout } = turnwatch(['replay', '--json', 'examples/traces/claude-stall-300s.jsonl'])
    const result = JSON.parse(stdout)
    expect(Object.keys(result)).toEqual(['file', 'id', 'verdicts', 'turns'])
    expect(Object.keys(result.verdicts[0])).toEqual([
      'turn',
      'verdict',
      'reason',
      'at',
      'phase',
      'thresholdMs',
      'thresholdSource',
      'silenceMs',
    ])
    expect(Object.keys(result.turns[0])).toEqual([
      'turn',
      'thread',
      'provider',
      'model',
      'outcome',
      'startedAt',
      'endedAt',
      'durationMs',
      'timeToFirstTokenMs',
      'maxGapMs',
      'eventCount',
    ])
    expect(readdirSync(folder)).not.toContain('state')
  })

  it('--until runs the clock on, --history teaches first', () => {
    const record = (i: number) =>
      JSON.stringify({
        id: `h${i}`,
        provider: 'codex',
        model: null,
        outcome: 'completed',
        timeToFirstTokenMs: 4000,
        maxGapMs: 8000,
      })
    const history = file('history.jsonl', Array.from({ length: 20 }, (_, i) => record(i)).join('\n'))
    const cut = file(
      'cut.jsonl',
      `${line(0)}\n${line(500, { type: 'item.completed', item: { type: 'agent_message' } })}\n`,
    )
    const verdicts = JSON.parse(
      turnwatch(['replay', '--json', '--history', history, '--until', '30000', cut]).stdout,
    ).verdicts
    expect(
      verdicts.map((one: { verdict: string; at: number; thresholdMs: number }) => [
        one.verdict,
        one.at,
        one.thresholdMs,
      ]),
    ).toEqual([
      ['suspect', 13_000, 12_000],
      ['stale', 16_000, 12_000],
    ])
  })
})

describe('classify', () => {
  it('answers each line in order, and exits 2 when one was not JSON', () => {
    const input =
      '{"type":"turn.started"}\nnot json\n{"type":"new"}\n\n{"type":"error","message":"Reconnecting... 1/2"}\n'
    const { status, stdout } = turnwatch(['classify', '--source', 'codex-exec-json'], input)
    expect(
      stdout
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one)),
    ).toEqual([
      { key: 'turn.started', class: 'turn-start' },
      { key: null, class: 'neutral', error: expect.any(String) },
      { key: null, class: 'neutral' },
      { key: null, class: 'neutral', error: expect.any(String) },
      { key: 'error', class: 'neutral' },
    ])
    expect(status).toBe(2)
  })

  it('takes the lines of a chat stream that are no JSON', () => {
    const input = ': PROCESSING\ndata: {"choices":[{"delta":{"content":"hi"}}]}\n[DONE]\ndata: [DONE]\nDONE\n'
    const { status, stdout } = turnwatch(['classify', '--source', 'openai-chat-chunk'], input)
    expect(
      stdout
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one)),
    ).toEqual([
      { key: 'comment', class: 'neutral' },
      { key: 'delta.content', class: 'content' },
      { key: '[DONE]', class: 'terminal-ok' },
      { key: '[DONE]', class: 'terminal-ok' },
      { key: null, class: 'neutral', error: expect.any(String) },
    ])
    expect(status).toBe(2)
    const other = turnwatch(['classify', '--source', 'anthropic-messages'], '[DONE]\n')
    expect([JSON.parse(other.stdout).key, other.status]).toEqual([null, 2])
  })

  it('passes over the blank lines between server-sent events', () => {
    const input = 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n'
    const { status, stdout } = turnwatch(['classify', '--source', 'openai-chat-chunk'], input)
    expect(
      stdout
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one)),
    ).toEqual([
      { key: 'delta.content', class: 'content' },
      { key: null, class: 'neutral' },
      { key: '[DONE]', class: 'terminal-ok' },
      { key: null, class: 'neutral' },
    ])
    expect(status).toBe(0)
    const ofPage = turnwatch(['classify', '--source', 'ai-sdk-ui-stream'], 'data: [DONE]\n\n')
    expect([ofPage.stdout.split('\n')[0], ofPage.status]).toEqual(['{"key":"[DONE]","class":"terminal-ok"}', 0])
  })

  it('needs a source that it knows', () => {
    expect(turnwatch(['classify']).status).toBe(2)
    expect(turnwatch(['classify', '--source', 'nope']).stderr).toContain('claude-code-stream-json')
  })
})

describe('learn and thresholds', () => {
  it('each record counts once, however often it is given', () => {
    const store = join(folder, 'learned.db')
    const taken = () =>
      turnwatch(['learn', '--json', '--store', store, 'examples/traces'])
        .stdout.trim()
        .split('\n')
        .map((one) => JSON.parse(one).taken)
    expect(taken().reduce((sum: number, n: number) => sum + n, 0)).toBe(14)
    expect(taken().every((n: number) => n === 0)).toBe(true)
    const rows = JSON.parse(turnwatch(['thresholds', '--json', '--store', store]).stdout)
    expect(
      rows.find(
        (row: { model: string; phase: string }) => row.model === 'claude-opus-4-6' && row.phase === 'mid-stream',
      ),
    ).toMatchObject({
      provider: 'claudeAgent',
      samples: 7,
      largestMs: 5150,
      thresholdMs: 90_000,
      thresholdSource: 'default',
      censored: 0,
    })
  })

  it('a store that cannot be used is a failure here', () => {
    const broken = file('broken.db', 'this is not a database, not at all, really not one')
    const { status, stderr } = turnwatch(['thresholds', '--store', broken])
    expect(status).toBe(1)
    expect(stderr.trimEnd()).toMatch(/^turnwatch: .*broken\.db: file is not a database/)
    expect(stderr.trimEnd()).not.toContain('\n')
  })
})
