/** Options that several commands share, and how their values are read. */

import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { PRESETS, type Preset } from '../detector/thresholds.ts'
import { SOURCE_NAMES, type SourceName } from '../instrumentation/sources/index.ts'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** `500ms`, `120s`, `2m`, `1h` in ms; `0` and `off` are never. */
export function duration(value: string): number {
  if (value === '0' || value === 'off') return Number.POSITIVE_INFINITY
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value) ?? []
  const ms = Number(amount) * (UNITS[unit ?? ''] ?? Number.NaN)
  if (Number.isFinite(ms) && ms > 0) return ms
  throw new InvalidArgumentError('A duration is a number with ms, s, m or h, as in 120s; 0 or off is never.')
}

/** The longest time that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The same for what must end: no `0` or `off`. */
export function finiteDuration(value: string): number {
  const ms = duration(value)
  if (ms <= MAX_TIMER_MS) return ms
  throw new InvalidArgumentError('A duration up to 24 days is expected, as in 120s.')
}

export function preset(value: string): Preset {
  const found = PRESETS.find((name) => name === value)
  if (found) return found
  throw new InvalidArgumentError(`A preset is one of ${PRESETS.join(', ')}.`)
}

export function source(value: string): SourceName {
  const found = SOURCE_NAMES.find((name) => name === value)
  if (found) return found
  throw new InvalidArgumentError(`A source is one of ${SOURCE_NAMES.join(', ')}.`)
}

/** A file name; `--` is one that was forgotten. */
export function file(value: string): string {
  if (value !== '' && value !== '--') return value
  throw new InvalidArgumentError('A file is expected.')
}

/** An id or name; `--` is one that was forgotten. */
export function name(value: string): string {
  if (value.trim() !== '' && value !== '--') return value
  throw new InvalidArgumentError('A name is expected.')
}

/** Beyond this a virtual clock, which ticks every second, would run for minutes. */
const MAX_REPLAY_MS = 1e10

/** A time on the scale of a recording, which may begin before 0. */
export function replayMs(value: string): number {
  const ms = Number(value)
  if (value.trim() !== '' && Math.abs(ms) <= MAX_REPLAY_MS) return ms
  throw new InvalidArgumentError(`A number of ms is expected, up to ${MAX_REPLAY_MS} (116 days).`)
}

export function port(value: string): number {
  const number = Number(value)
  if (/^\d+$/.test(value) && number <= 65_535) return number
  throw new InvalidArgumentError('A port is a number from 0 (any free one) to 65535.')
}

/** Not null for `off`, which the parser of the options takes for no value at all. */
export function portOrOff(value: string): number | 'off' {
  if (value === 'off') return value
  try {
    return port(value)
  } catch {
    throw new InvalidArgumentError('A port is a number from 0 (any free one) to 65535, or off.')
  }
}

/** The values of an option that may be given several times. */
export function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** The file that learned samples are kept in by default. */
export function defaultStoreFile(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  return join(stateFolder(env, platform), 'turnwatch', 'turnwatch.db')
}

function stateFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  // The specification of XDG has relative paths ignored.
  if (env.XDG_STATE_HOME && isAbsolute(env.XDG_STATE_HOME)) return env.XDG_STATE_HOME
  if (platform === 'win32') return env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support')
  return join(homedir(), '.local', 'state')
}
