/** How fast a recording of a whole day replays: as a timeline of turn events, and as raw events of a real wire. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replayFile } from '../hosts/replay/replay.ts'
import { msPerRun } from './measure.ts'
import { type Figure, heading, printFigures, printTable } from './report.ts'
import { Random } from './simulation/random.ts'

const DAY_MS = 86_400_000
const BUDGET_MS = 1000
const THREADS = 3
/** A token every 40 ms while the model writes. */
const TOKEN_MS = 40

interface Recording {
  readonly name: string
  readonly file: string
  readonly events: number
}

export async function benchReplay(): Promise<Figure[]> {
  heading(`A day of ${THREADS} threads, read from its file and replayed`)
  const folder = mkdtempSync(join(tmpdir(), 'turnwatch-bench-'))
  try {
    const rows: string[][] = []
    const figures: Figure[] = []
    for (const { name, file, events } of [scenario(folder), trace(folder)]) {
      let verdicts = 0
      let turns = 0
      const { median, worst } = await msPerRun(
        () => {
          const { result } = replayFile(file)
          verdicts = result.verdicts.filter(({ verdict }) => verdict === 'stale').length
          turns = result.turns.length
        },
        5,
        2,
      )
      const ticks = DAY_MS / 1000
      rows.push([
        name,
        events.toLocaleString('en'),
        ticks.toLocaleString('en'),
        `${turns}`,
        `${verdicts}`,
        median.toFixed(0),
      ])
      figures.push({
        what: `a day replayed, ${name}`,
        ...(name === 'scenario' ? { budget: `< ${BUDGET_MS} ms` } : {}),
        measured: `${median.toFixed(0)} ms, worst ${worst.toFixed(0)}`,
        peer: `real time: ${Math.round(DAY_MS / median).toLocaleString('en')}x faster`,
        ok: name === 'scenario' ? median < BUDGET_MS : null,
      })
    }
    printTable(['recording', 'events', 'ticks', 'turns', 'stale', 'ms'], rows)
    return figures
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A turn of a day: it thinks, writes, runs a tool and writes again. */
interface DayTurn {
  readonly thread: number
  readonly start: number
  readonly firstToken: number
  readonly toolFrom: number
  readonly toolTo: number
  readonly secondToken: number
  readonly end: number
}

function dayOfTurns(): DayTurn[] {
  const random = new Random(7, 0)
  const turns: DayTurn[] = []
  for (let thread = 0; thread < THREADS; thread++) {
    for (let at = 10_000; ; ) {
      const start = Math.round(at)
      const firstToken = start + Math.round(2500 * random.lognormal(0.5))
      const toolFrom = firstToken + Math.round(4000 * random.lognormal(0.5))
      const toolTo = toolFrom + Math.round(8000 * random.lognormal(1))
      const secondToken = toolTo + Math.round(2500 * random.lognormal(0.5))
      const end = secondToken + Math.round(5000 * random.lognormal(0.5))
      at = end + 60_000 * random.lognormal(1)
      if (end > DAY_MS - 1000) break
      turns.push({ thread, start, firstToken, toolFrom, toolTo, secondToken, end })
    }
  }
  return turns.sort((a, b) => a.start - b.start)
}

function scenario(folder: string): Recording {
  let events = 0
  const timeline = dayOfTurns().flatMap((day, i) => {
    const turn = `turn-${i}`
    const thread = `thread-${day.thread}`
    const tokens = (from: number, to: number) => {
      events += Math.floor((to - from) / TOKEN_MS) + 1
      return { from, to, every: TOKEN_MS, turn, thread, kind: 'token', stream: 'text' }
    }
    events += 4
    return [
      { at: day.start, turn, thread, kind: 'turn.started', provider: 'claudeAgent', model: 'claude-opus-4-6' },
      tokens(day.firstToken, day.toolFrom),
      { at: day.toolFrom, turn, thread, kind: 'tool.started', id: `call-${i}`, name: 'Bash' },
      { at: day.toolTo, turn, thread, kind: 'tool.ended', id: `call-${i}` },
      tokens(day.secondToken, day.end),
      { at: day.end, turn, thread, kind: 'turn.ended', outcome: 'completed' },
    ]
  })
  timeline.sort((a, b) => startOf(a) - startOf(b))
  const file = join(folder, 'day.json')
  writeFileSync(file, JSON.stringify({ timeline, until: DAY_MS }))
  return { name: 'scenario', file, events }
}

function startOf(entry: { at?: number; from?: number }): number {
  return entry.at ?? entry.from ?? 0
}

/** The same day of one of the threads as `claude --output-format stream-json` wrote it. */
function trace(folder: string): Recording {
  const lines: string[] = []
  const session_id = '11111111-1111-4111-8111-111111111111'
  const add = (t: number, event: object) => lines.push(JSON.stringify({ t, event: { ...event, session_id } }))
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' and then' } }
  for (const [i, day] of dayOfTurns()
    .filter(({ thread }) => thread === 0)
    .entries()) {
    const tool = `toolu_${i}`
    const tokens = (from: number, to: number) => {
      for (let t = from; t <= to; t += TOKEN_MS)
        add(t, { type: 'stream_event', event: delta, parent_tool_use_id: null })
    }
    const message = (role: string, block: object) => ({ type: role, message: { role, content: [block] } })
    add(day.start, { type: 'system', subtype: 'init', model: 'claude-opus-4-6' })
    tokens(day.firstToken, day.toolFrom)
    add(day.toolFrom, message('assistant', { type: 'tool_use', id: tool, name: 'Bash', input: {} }))
    add(day.toolTo, message('user', { type: 'tool_result', tool_use_id: tool, content: 'done' }))
    tokens(day.secondToken, day.end)
    add(day.end, { type: 'result', subtype: 'success', is_error: false, result: 'done' })
  }
  const file = join(folder, 'day.jsonl')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return { name: 'raw trace of one thread', file, events: lines.length }
}

if (import.meta.main) printFigures(await benchReplay())
