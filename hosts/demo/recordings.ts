/** The recorded runs that the demo plays, and as which child. */

import { join } from 'node:path'
import { packageRoot } from '../../package-root.ts'
import { readText } from '../replay/replay.ts'
import { parseTrace, type Trace, traceStats } from '../replay/trace.ts'

export interface Child {
  /** What it shows; also the last part of its thread's id. */
  readonly name: string
  readonly trace: Trace
  /** Whether the recording is cut, so that its stream dies. */
  readonly dies: boolean
}

/** After its first words the recorded run was silent for 300 s; the demo's version is silent for good. */
const CUT_AT_MS = 2100

const PLAYED = [
  { name: 'claude-code', file: 'claude.jsonl' },
  { name: 'codex', file: 'codex-appserver.jsonl' },
  { name: 'opencode', file: 'opencode-sse.jsonl' },
  { name: 'long-tool', file: 'claude-longtool.jsonl' },
  { name: 'approval', file: 'opencode-sse-perm.jsonl' },
  { name: 'retry', file: 'claude-retry.jsonl' },
  { name: 'dead-stream', file: 'claude-stall-300s.jsonl', cutAtMs: CUT_AT_MS },
] as const

export function children(): Child[] {
  return PLAYED.map((played) => {
    const trace = readTrace(played.file)
    const cutAtMs = 'cutAtMs' in played ? played.cutAtMs : Number.POSITIVE_INFINITY
    const lines = trace.lines.filter((line) => line.t <= cutAtMs)
    return { name: played.name, trace: { ...trace, lines }, dies: 'cutAtMs' in played }
  })
}

/** Statistics of the healthy runs among them. */
export function recordedStatistics() {
  return PLAYED.flatMap((played) => traceStats(readTrace(played.file)))
}

function readTrace(file: string): Trace {
  return parseTrace(file, readText(join(packageRoot(), 'examples', 'traces', file)))
}
