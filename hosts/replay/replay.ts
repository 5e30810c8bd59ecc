/** Replays one file, whichever kind it is. */

import { readFileSync } from 'node:fs'
import { BadInput } from '../../bad-input.ts'
import type { SourceName } from '../../instrumentation/sources/index.ts'
import type { ReplayResult } from './result.ts'
import { differences, parseScenario, type ReplayOptions, replayScenario } from './scenario.ts'
import { parseTrace, replayTrace } from './trace.ts'

export interface FileReplay {
  readonly result: ReplayResult
  /** How the verdicts differ from those that the file expects; null for a file that expects nothing. */
  readonly differences: string[] | null
}

/** Throws BadInput with file and line. */
export function replayFile(
  file: string,
  options: ReplayOptions & { source?: SourceName | undefined } = {},
): FileReplay {
  const text = readText(file)
  if (text.trim() === '') throw new BadInput(`${file}:1: empty`)
  if (file.endsWith('.json')) {
    const scenario = parseScenario(file, text)
    const result = replayScenario(file, scenario, options)
    return { result, differences: scenario.expect ? differences(scenario.expect, result) : null }
  }
  return { result: replayTrace(file, parseTrace(file, text, options.source), options), differences: null }
}

/** The text of a file; throws BadInput. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'is a folder' : (code ?? String(error))
    throw new BadInput(`${file}: ${why}`)
  }
}
