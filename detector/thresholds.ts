/** The silence at which a turn becomes suspect: a pure function of the preset, the defaults and what was measured. */

import type { Phase } from '../instrumentation/events.ts'
import { documentedSilenceMs } from './documented-silence.ts'

export const PRESETS = ['standard', 'cautious'] as const
/** `standard` is the rule of the requirement; `cautious` is for hosts that act on the verdict. */
export type Preset = (typeof PRESETS)[number]

export type ThresholdSource = 'default' | 'measured'

/** Defaults in ms, used until a key has 20 samples, and bounding it afterwards. `Infinity` = never. */
export interface ThresholdDefaults {
  /** @default 120000 (`cautious`: 300000 or the largest documented healthy silence of the model) */
  readonly firstTokenMs?: number
  /** @default 90000 (`cautious`: as above) */
  readonly midStreamMs?: number
  /** @default 90000 (`cautious`: as above) */
  readonly afterToolMs?: number
}

export interface ThresholdOptions extends ThresholdDefaults {
  /** @default 'standard' */
  readonly preset?: Preset
}

/** From this many samples on a threshold is measured. */
export const MIN_SAMPLES = 20
/** Stale follows suspect at this multiple of the threshold. */
export const CONFIRM = 1.25

/** No measured threshold of `standard` is below this: ordinary blocks of an event loop would flag healthy turns. */
const STANDARD_FLOOR_MS = 6000
const CAUTIOUS_FLOOR_MS = 30_000
/** Where a wire reports tools only when they are finished, an open tool looks like silence. */
const BLIND_TOOLS_MS = 300_000
const MARGIN = 1.5
/** Accepted false flags per turn, and the index of the heaviest tail for which the margin below holds. */
const RATE = 1e-5
const TAIL_INDEX = 2.5

const STANDARD_DEFAULTS: Record<Phase, number> = { 'first-token': 120_000, 'mid-stream': 90_000, 'after-tool': 90_000 }
const CAUTIOUS_DEFAULT_MS = 300_000

export interface Measured {
  /** Samples in the window. */
  readonly count: number
  /** The largest of them in ms. */
  readonly largestMs: number
  /** The largest ever accepted. */
  readonly largestEverMs: number
}

/**
 * The margin over the largest of n samples that keeps false flags at 1e-5 a turn for tails no heavier than Pareto 2.5.
 * It shrinks as n grows and is never below 1.5.
 */
export function sizeAwareMargin(count: number): number {
  return Math.max(MARGIN, ((count + 1) * RATE) ** (-1 / TAIL_INDEX))
}

/**
 * Threshold in ms; stale is 1.25 times it. Never below the largest healthy silence on record. A default of infinity
 * switches the threshold off, whatever was measured.
 */
export function thresholdMs(preset: Preset, defaultMs: number, measured: Measured): number {
  const { count, largestMs, largestEverMs } = measured
  if (defaultMs === Number.POSITIVE_INFINITY) return defaultMs
  return Math.max(largestEverMs, preset === 'standard' ? standard() : cautious())

  function standard(): number {
    if (count < MIN_SAMPLES) return Math.max(defaultMs, largestMs)
    return Math.max(MARGIN * largestMs, Math.min(defaultMs, STANDARD_FLOOR_MS))
  }

  function cautious(): number {
    if (count < MIN_SAMPLES) return Math.max(defaultMs, MARGIN * largestMs)
    const sizeAware = Math.max(sizeAwareMargin(count) * largestMs, CAUTIOUS_FLOOR_MS)
    return Math.max(MARGIN * largestMs, Math.min(defaultMs, sizeAware))
  }
}

/**
 * What no threshold goes below while it rests on records of v1b: their gap ends at any event, so it is too small for
 * progress, and contains waits for approval, so it is too large for silence.
 */
export function legacyFloorMs(defaultMs: number, { largestMs }: Measured): number {
  return Math.max(defaultMs, MARGIN * largestMs)
}

export function thresholdSource(count: number): ThresholdSource {
  return count < MIN_SAMPLES ? 'default' : 'measured'
}

/** The default in ms of a key: what the host says, else the preset's. */
export function defaultMs(options: ThresholdOptions, model: string | null, blindTools: boolean, phase: Phase): number {
  const explicit = explicitDefault(options, phase)
  if (explicit !== undefined) return explicit
  const floor = blindTools ? BLIND_TOOLS_MS : 0
  if ((options.preset ?? 'standard') === 'standard') return Math.max(floor, STANDARD_DEFAULTS[phase])
  return Math.max(floor, CAUTIOUS_DEFAULT_MS, documentedSilenceMs(model))
}

function explicitDefault(options: ThresholdDefaults, phase: Phase): number | undefined {
  switch (phase) {
    case 'first-token':
      return options.firstTokenMs
    case 'mid-stream':
      return options.midStreamMs
    case 'after-tool':
      return options.afterToolMs
    default:
      return phase satisfies never
  }
}
