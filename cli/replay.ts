/** `turnwatch replay`: the same detector over recorded files, on a virtual clock. */

import { join } from 'node:path'
import { Command } from 'commander'
import { BadInput } from '../bad-input.ts'
import type { Preset } from '../detector/thresholds.ts'
import type { FileReplay } from '../hosts/replay/replay.ts'
import type { SourceName } from '../instrumentation/sources/index.ts'
import { packageRoot } from '../package-root.ts'
import { preset, replayMs, source } from './options.ts'
import { recordedFiles } from './recorded-files.ts'

interface Options {
  readonly json?: true
  readonly check?: true
  readonly preset?: Preset
  readonly source?: SourceName
  readonly history?: string
  readonly until?: number
}

export function replayCommand(): Command {
  return new Command('replay')
    .description('Replay scenarios (.json) and traces (.jsonl) through the detector.')
    .argument('[FILE...]', 'files or folders; with --check and none: the scenarios of the package')
    .option('--json', 'one JSON object a line for each file')
    .option('--check', 'compare with what each scenario expects; exit 1 if they differ')
    .option('--preset <preset>', 'standard or cautious', preset)
    .option('--source <name>', 'wire format of the traces, instead of recognising it', source)
    .option('--history <file>', 'statistics to learn from first: a JSON array, or one record a line')
    .option('--until <ms>', 'run the clock to here instead of to the end of the file', replayMs)
    .action(run)
}

async function run(given: string[], options: Options): Promise<void> {
  if (given.length === 0 && !options.check)
    throw new BadInput('replay: no FILE: name scenarios (.json) or traces (.jsonl)')
  const { readRecords } = await import('../hosts/replay/records.ts')
  const { replayFile } = await import('../hosts/replay/replay.ts')
  const history = options.history === undefined ? [] : readRecords(options.history)
  const paths = given.length > 0 ? given : [join(packageRoot(), 'examples', 'scenarios')]
  let bad = 0
  let compared = 0
  let differing = 0
  const orBad = (path: string, work: () => void) => {
    try {
      work()
    } catch (error) {
      // Whatever a file makes us do, the others still run.
      const { message } = error instanceof BadInput ? error : new BadInput(`${path}: ${(error as Error).message}`)
      process.stderr.write(`turnwatch: ${message.split('\n')[0]}\n`)
      bad++
    }
  }
  const replay = (file: string) => {
    const found = replayFile(file, { ...options, history, untilMs: options.until })
    if (found.differences) compared++
    if (found.differences && found.differences.length > 0) differing++
    process.stdout.write(options.json ? `${JSON.stringify(found.result)}\n` : text(found, options.check === true))
  }
  for (const path of paths) {
    orBad(path, () => {
      for (const file of recordedFiles(path)) orBad(file, () => replay(file))
    })
  }
  if (options.check && !options.json) process.stdout.write(`${compared - differing} of ${compared} as expected\n`)
  process.exitCode = bad > 0 ? 2 : options.check && differing > 0 ? 1 : 0
}

function text({ result, differences }: FileReplay, check: boolean): string {
  if (check) {
    const wrong = differences ?? ['says nothing of what to expect']
    return wrong.length === 0 ? '' : `${result.file}\n${wrong.map((line) => `  ${line}\n`).join('')}`
  }
  const turns = result.turns.map((turn) => {
    const model = turn.model ? ` ${turn.model}` : ''
    return `  turn ${turn.turn}: ${turn.provider}${model}, ${turn.outcome ?? 'still running'}, ${turn.eventCount} events\n`
  })
  const verdicts = result.verdicts.map(
    (one) =>
      `  ${one.at} ms: ${one.turn} ${one.verdict} (${one.reason}, ${one.phase}, silent ${one.silenceMs} ms, ` +
      `threshold ${one.thresholdMs} ms ${one.thresholdSource})\n`,
  )
  return `${result.file}\n${turns.join('')}${verdicts.length > 0 ? verdicts.join('') : '  no verdict\n'}`
}
