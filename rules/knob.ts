/** Knobs of alerts: what can be set, in which unit, and when to change it. */

/** A number to compare with, or a time as Prometheus writes it, such as `5m`. */
export type Knob = number | string

export interface KnobDefinition<V extends Knob = Knob> {
  /** What it is where nothing else is said. */
  readonly value: V
  readonly unit: Unit
  /** What it does, or when to change it: a sentence without its period. */
  readonly help: string
}

type Unit = 'seconds' | 'share' | 'count' | 'time' | 'pattern'

/** A limit in seconds. */
export const seconds = (value: number, help: string): KnobDefinition<number> => ({ value, unit: 'seconds', help })

/** A part of a whole, from 0 to below 1: nothing is more than the whole. */
export const share = (value: number, help: string): KnobDefinition<number> => ({ value, unit: 'share', help })

/** A share in words. */
export function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`
}

/** A number of things. */
export const count = (value: number, help: string): KnobDefinition<number> => ({ value, unit: 'count', help })

/** A window or a wait, such as `5m`. */
export const time = (value: string, help: string): KnobDefinition<string> => ({ value, unit: 'time', help })

/** A regular expression that a label's whole value must match. */
export const pattern = (value: string, help: string): KnobDefinition<string> => ({ value, unit: 'pattern', help })

interface Kind {
  /** What is allowed, for whoever gave something else. */
  readonly allowed: string
  /** The value as it goes into a rule; undefined for one that is not allowed. */
  read(text: string): Knob | undefined
}

export const UNITS: Readonly<Record<Unit, Kind>> = {
  seconds: { allowed: 'seconds, a number from 0 up', read: (text) => decimal(text) },
  share: {
    allowed: 'a share, from 0 to below 1',
    read: (text) => {
      const number = decimal(text)
      return number !== undefined && number < 1 ? number : undefined
    },
  },
  count: {
    allowed: 'a whole number from 1 up',
    read: (text) => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined),
  },
  time: {
    allowed: 'a time as Prometheus writes it, such as 90s, 5m or 1h30m, up to 1y',
    read: (text) => (duration(text) > 0 ? text : undefined),
  },
  pattern: {
    allowed: 'a regular expression of letters, digits and any of _ - / : . * + ? | ( ) [ ] ^ $',
    read: (text) => (isPattern(text) ? text : undefined),
  },
}

/** How long an alert must hold: as `time`, or `0s`. */
export const WAIT: Kind = {
  allowed: `${UNITS.time.allowed}, or 0s`,
  read: (text) => (duration(text) >= 0 ? text : undefined),
}

function decimal(text: string): number | undefined {
  return /^\d{1,15}(\.\d{1,20})?$/.test(text) ? Number(text) : undefined
}

const UNIT_SECONDS = { y: 31_536_000, w: 604_800, d: 86_400, h: 3600, m: 60, s: 1, ms: 0.001 } as const

/** In seconds, up to a year; NaN for what Prometheus would not read. */
function duration(text: string): number {
  // In this order, each unit once: Prometheus takes them in no other.
  if (!/^(?=\d)(\d{1,9}y)?(\d{1,9}w)?(\d{1,9}d)?(\d{1,9}h)?(\d{1,9}m)?(\d{1,9}s)?(\d{1,9}ms)?$/.test(text))
    return Number.NaN
  const parts = [...text.matchAll(/(\d+)(ms|[ywdhms])/g)]
  const sum = parts.reduce((all, [, n, unit]) => all + Number(n) * UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS], 0)
  return sum <= UNIT_SECONDS.y ? sum : Number.NaN
}

/** Only what Go's expressions and JavaScript's read alike. */
function isPattern(text: string): boolean {
  if (!/^[\w\-/:.*+?|()[\]^$]{1,200}$/.test(text) || /\(\?(?!:)|\[\^?\]/.test(text)) return false
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}
