/** The turns that the pictures are about: one that has seen everything, and those that are in trouble at the end. */

import type { Story } from './story.ts'
import { type Job, quiet, type Script, type Stage, streaming } from './turns.ts'

/** The thread of the detail picture. */
export const HERO_THREAD = 'payments-refactor'

export interface ScriptedTurn {
  readonly host: string
  readonly startMs: number
  readonly script: (stage: Stage) => Script
}

const OPUS = { provider: 'claudeAgent', model: 'claude-opus-4-6' }
const CODEX = { provider: 'codex', model: 'gpt-5.2-codex' }
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

export function scriptedTurns({ lengthMs, upgrades }: Story): ScriptedTurn[] {
  // None of them is cut short by an upgrade of its host.
  const start = (host: string, minutes: number) =>
    Math.max((upgrades[host] ?? 0) + MINUTE_MS, lengthMs - minutes * MINUTE_MS)
  const heroMs = start('build-1', 57)
  return [
    { host: 'build-1', startMs: heroMs, script: (stage) => everything(stage, lengthMs - heroMs) },
    silent('build-2', start('build-2', 11), 'orders-migration', 6.1),
    silent('build-2', start('build-2', 9), 'sub.orders-migration.backfill', 6),
    silent('build-1', start('build-1', 4), 'schema-docs', 2.15),
  ]
}

function silent(host: string, startMs: number, thread: string, minutes: number): ScriptedTurn {
  return { host, startMs, script: (stage) => goesSilent(stage, thread, minutes) }
}

/** Streams, runs tools, waits for an approval, goes stale for some minutes, recovers and goes on to the end. */
function* everything(stage: Stage, ms: number): Script {
  const job: Job = { thread: HERO_THREAD, turn: 'turn-12', ...OPUS }
  const part = ms / 20
  const tell = (event: Parameters<Stage['observe']>[1]) => stage.observe(job.thread, event)
  tell({ kind: 'turn.started', turn: job.turn, ...OPUS })
  yield 5200
  yield* streaming(stage, job, { tokenMs: 1100 }, 2 * part)
  yield* tool(stage, job, 'read', part)
  yield* streaming(stage, job, { tokenMs: 1100 }, 2 * part)
  tell({ kind: 'wait.started', id: 'deploy', reason: 'approval' })
  yield 2 * part
  tell({ kind: 'wait.ended', id: 'deploy' })
  yield 7400
  yield* streaming(stage, job, { tokenMs: 1100 }, 1.5 * part)
  // Nothing comes for longer than its threshold, then the stream goes on.
  yield Math.max(150 * SECOND_MS, 2.2 * part)
  yield* streaming(stage, job, { tokenMs: 1100 }, 1.5 * part)
  yield* tool(stage, job, 'tests', 2 * part)
  yield 9100
  yield* streaming(stage, job, { tokenMs: 1100 }, part)
  tell({ kind: 'wait.started', id: 'review', reason: 'subagent' })
  yield 1.5 * part
  tell({ kind: 'wait.ended', id: 'review' })
  yield 6000
  yield* streaming(stage, job, { tokenMs: 1100 }, 60 * part)
}

function* tool(stage: Stage, job: Job, id: string, ms: number): Script {
  stage.observe(job.thread, { kind: 'tool.started', id, name: 'shell' })
  yield ms
  stage.observe(job.thread, { kind: 'tool.ended', id })
  yield* quiet(stage, job.provider, 4000)
}

/** Streams for some minutes and then never again. */
function* goesSilent(stage: Stage, thread: string, minutes: number): Script {
  const job: Job = { thread, turn: 'turn-3', ...CODEX }
  stage.observe(thread, { kind: 'turn.started', turn: job.turn, ...CODEX })
  yield 6100
  yield* streaming(stage, job, { tokenMs: 1400 }, minutes * MINUTE_MS)
}
