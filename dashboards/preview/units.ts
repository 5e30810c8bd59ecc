/** Values in the units of panels, as Grafana writes them. Throws for a unit that it does not know. */

export interface Written {
  readonly unit: string
  /** Digits after the point; chosen by the size of the value where it is not given. */
  readonly decimals?: number | null | undefined
  /** Now, for times told from it, in epoch ms. */
  readonly nowMs: number
}

type Writer = (value: number, written: Written) => string

const UNITS: Readonly<Record<string, Writer>> = {
  none: (value, { decimals }) => digits(value, decimals),
  string: (value) => String(value),
  short: (value, { decimals }) => scaled(value, decimals, 1000, ['', ' K', ' Mil', ' Bil', ' Tri']),
  locale: (value, { decimals }) => value.toLocaleString('en-US', { maximumFractionDigits: decimals ?? 3 }),
  percent: (value, { decimals }) => `${digits(value, decimals)}%`,
  percentunit: (value, { decimals }) => `${digits(value * 100, decimals)}%`,
  bytes: (value, { decimals }) => scaled(value, decimals, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']),
  decbytes: (value, { decimals }) => scaled(value, decimals, 1000, [' B', ' kB', ' MB', ' GB', ' TB']),
  currencyUSD: (value, { decimals }) => `$${scaled(value, decimals ?? 2, 1000, ['', 'K', 'M', 'B'])}`,
  reqps: rate('req/s'),
  ops: rate('ops/s'),
  cps: rate('c/s'),
  eps: rate('evt/s'),
  ms: (value, { decimals }) => time(value / 1000, decimals),
  s: (value, { decimals }) => time(value, decimals),
  dtdurations: (value) => inWords(value),
  dtdhms: (value) => clockTime(value),
  clocks: (value) => clockTime(value),
  dateTimeAsIso: (value) => iso(value),
  dateTimeFromNow: (value, { nowMs }) => fromNow(value, nowMs),
  bool: (value) => (value === 0 ? 'False' : 'True'),
  bool_yes_no: (value) => (value === 0 ? 'No' : 'Yes'),
  bool_on_off: (value) => (value === 0 ? 'Off' : 'On'),
}

export function isTime(unit: string): boolean {
  return unit === 's' || unit === 'dtdurations' || unit === 'dtdhms'
}

/** The value with its unit. */
export function write(value: number, written: Written): string {
  const { unit, decimals } = written
  const [, suffix] = /^suffix:(.*)$/.exec(unit) ?? []
  if (suffix !== undefined) return `${digits(value, decimals)} ${suffix}`
  const writer = Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined
  if (writer === undefined) throw new Error(`the preview knows no unit ${unit}`)
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '-∞'
  return writer(value, written)
}

/** About three digits, none of them zeros at the end. */
function digits(value: number, decimals: number | null | undefined): string {
  if (decimals != null) return value.toFixed(decimals)
  if (value === 0) return '0'
  const before = Math.floor(Math.log10(Math.abs(value))) + 1
  return String(Number(value.toFixed(Math.min(20, Math.max(0, 3 - before)))))
}

function scaled(
  value: number,
  decimals: number | null | undefined,
  factor: number,
  suffixes: readonly string[],
): string {
  let rest = value
  let step = 0
  while (Math.abs(rest) >= factor && step < suffixes.length - 1) {
    rest /= factor
    step++
  }
  return digits(rest, decimals) + suffixes[step]
}

function rate(suffix: string): Writer {
  return (value, { decimals }) => `${scaled(value, decimals, 1000, ['', 'K', 'M', 'B'])} ${suffix}`
}

const TIMES = [
  [31_536_000, 'year'],
  [604_800, 'week'],
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'min'],
] as const

function time(seconds: number, decimals: number | null | undefined): string {
  const size = Math.abs(seconds)
  if (size === 0) return '0 s'
  if (size < 1e-3) return `${digits(seconds * 1e6, decimals)} µs`
  if (size < 1) return `${digits(seconds * 1e3, decimals)} ms`
  if (size < 60) return `${digits(seconds, decimals)} s`
  const [unit, name] = TIMES.find(([least]) => size >= least) as (typeof TIMES)[number]
  const value = digits(seconds / unit, decimals)
  return `${value} ${name}${Number(value) === 1 ? '' : 's'}`
}

/** `1 hour, 23 minutes`. */
function inWords(seconds: number): string {
  if (seconds === 0) return '0 seconds'
  if (Math.abs(seconds) < 1) return time(seconds, null)
  const words: string[] = []
  let rest = Math.round(Math.abs(seconds))
  for (const [unit, name] of [
    [604_800, 'week'],
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ] as const) {
    const count = Math.floor(rest / unit)
    rest -= count * unit
    if (count > 0) words.push(`${count} ${name}${count === 1 ? '' : 's'}`)
  }
  return words.slice(0, 2).join(', ')
}

function clockTime(seconds: number): string {
  const whole = Math.round(Math.abs(seconds))
  const days = Math.floor(whole / 86_400)
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const clock = `${two((whole % 86_400) / 3600)}:${two((whole % 3600) / 60)}:${two(whole % 60)}`
  return days > 0 ? `${days} d ${clock}` : clock
}

function iso(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}

function fromNow(ms: number, nowMs: number): string {
  const seconds = (nowMs - ms) / 1000
  const size = Math.abs(seconds)
  let words: string
  if (size < 45) words = 'a few seconds'
  else if (size < 90) words = 'a minute'
  else if (size < 2700) words = `${Math.round(size / 60)} minutes`
  else if (size < 5400) words = 'an hour'
  else if (size < 79_200) words = `${Math.round(size / 3600)} hours`
  else if (size < 129_600) words = 'a day'
  else words = `${Math.round(size / 86_400)} days`
  return seconds >= 0 ? `${words} ago` : `in ${words}`
}
