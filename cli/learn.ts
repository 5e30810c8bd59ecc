/** `turnwatch learn` and `turnwatch thresholds`: what the store knows, and what it implies. */

import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { BadInput } from '../bad-input.ts'
import type { ThresholdRow } from '../detector/learning.ts'
import type { Preset } from '../detector/thresholds.ts'
import type { SourceName } from '../instrumentation/sources/index.ts'
import { sqliteStore } from '../storage/sqlite-store.ts'
import { createTurnwatch } from '../turnwatch.ts'
import { defaultStoreFile, file, preset, source } from './options.ts'
import { recordedFiles } from './recorded-files.ts'

const BUSY_TIMEOUT_MS = 5000
const NOTHING = 'nothing learned yet; the defaults are in force\n'

export function learnCommand(): Command {
  return new Command('learn')
    .description('Learn from recorded traces and stored statistics; each record counts once.')
    .argument('<PATH...>', 'traces, files of statistics, or folders of them')
    .option('--store <file>', 'where samples are kept', file, defaultStoreFile())
    .option('--source <name>', 'wire format of the traces, instead of recognising it', source)
    .option('--json', 'print {"file", "records", "taken"} lines')
    .action(learn)
}

async function learn(paths: string[], options: { store: string; source?: SourceName; json?: true }): Promise<void> {
  const { watch, check } = openWatch(options.store)
  let bad = false
  try {
    for (const file of paths.flatMap(recordedFiles)) {
      try {
        const records = await recordsIn(file, options.source)
        const taken = watch.learn(records)
        const line = { file, records: records.length, taken }
        process.stdout.write(
          options.json
            ? `${JSON.stringify(line)}\n`
            : `${file}: ${taken} of ${records.length} turns gave new samples\n`,
        )
      } catch (error) {
        if (!(error instanceof BadInput)) throw error
        process.stderr.write(`turnwatch: ${error.message}\n`)
        bad = true
      }
    }
  } finally {
    await watch.stop()
  }
  check()
  if (bad) process.exitCode = 2
}

/** Statistics as they are; a trace is replayed for its own. */
async function recordsIn(file: string, name: SourceName | undefined): Promise<unknown[]> {
  const { readText } = await import('../hosts/replay/replay.ts')
  const text = readText(file)
  if (name === undefined && !isTrace(text)) {
    const { parseRecords } = await import('../hosts/replay/records.ts')
    return parseRecords(file, text)
  }
  const { parseTrace, traceStats } = await import('../hosts/replay/trace.ts')
  return traceStats(parseTrace(file, text, name))
}

function isTrace(text: string): boolean {
  try {
    const first: unknown = JSON.parse(text.trimStart().split('\n')[0] ?? '')
    return typeof first === 'object' && first !== null && 't' in first && 'event' in first
  } catch {
    return false
  }
}

/** A watch on a store that must work: without it there is nothing to do here. */
function openWatch(store: string, options: { preset?: Preset } = {}) {
  if (store === 'off') throw new BadInput('--store off: this command works on a store')
  let broken: Error | undefined
  const watch = createTurnwatch({
    // Nothing else waits for this event loop.
    store: sqliteStore(store, { busyTimeoutMs: BUSY_TIMEOUT_MS }),
    thresholds: options,
    onError: ({ cause }) => {
      broken ??= cause as Error
    },
  })
  const check = () => {
    if (broken) throw new Error(broken.message.replace(/; going on from memory$/, ''))
  }
  check()
  return { watch, check }
}

export function thresholdsCommand(): Command {
  return new Command('thresholds')
    .description('Print the thresholds in force, and what they were measured from.')
    .option('--store <file>', 'where samples are kept', file, defaultStoreFile())
    .option('--preset <preset>', 'standard or cautious', preset)
    .option('--json', 'print a JSON array')
    .action(thresholds)
}

async function thresholds(options: { store: string; preset?: Preset; json?: true }): Promise<void> {
  if (!existsSync(options.store) && options.store !== 'off') {
    if (options.store !== defaultStoreFile()) throw new BadInput(`${options.store}: no such file`)
    process.stdout.write(options.json ? '[]\n' : NOTHING)
    return
  }
  const { watch } = openWatch(options.store, options.preset ? { preset: options.preset } : {})
  const rows = watch.thresholds()
  await watch.stop()
  if (options.json) process.stdout.write(`${JSON.stringify(rows)}\n`)
  else if (rows.length === 0) process.stdout.write(NOTHING)
  else process.stdout.write(table(rows))
}

function table(rows: readonly ThresholdRow[]): string {
  const cells = rows.map((row) => [
    row.provider,
    row.model ?? '-',
    row.phase,
    `${(row.thresholdMs / 1000).toFixed(1)} s`,
    row.thresholdSource,
    String(row.samples),
    `${(row.largestMs / 1000).toFixed(1)} s`,
    String(row.censored),
  ])
  const all = [['provider', 'model', 'phase', 'threshold', 'source', 'samples', 'largest', 'censored'], ...cells]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => (line[column] ?? '').length))) ?? []
  return all
    .map(
      (line) =>
        `${line
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
