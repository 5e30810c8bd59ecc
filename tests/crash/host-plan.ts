/** What a host process is told when it starts. */

import type { NotifierOptions } from '../../notifier/notifier-options.ts'
import type { TurnIds } from './journal.ts'
import type { Point, Sabotage } from './kill-points.ts'

export interface HostPlan {
  readonly run: string
  /** The store's file, and that of the host's own journal. */
  readonly file: string
  readonly journal: string
  readonly channels: readonly ChannelPlan[]
  /** Whether it sends through the package's own webhook, which takes longer to load than all the rest. */
  readonly byWebhook: boolean
  readonly options: Omit<NotifierOptions, 'channels'>
  readonly restores: readonly TurnIds[]
  readonly seed: number
  /** Epoch ms at which the clocks of all hosts of the store show the real time. */
  readonly epochMs: number
  /** How far the wall clock is ahead. */
  readonly skewMs: number
  /** Where it kills itself, or after how many steps if it does not get there; null for one that is killed, or left alone. */
  readonly dies: { readonly point: Point; readonly nth: number; readonly steps: number } | null
  /** Nothing happens to its turns, so that all is told in the end. */
  readonly isLeftAlone: boolean
  readonly sabotage: Sabotage | null
}

export interface ChannelPlan {
  readonly name: string
  readonly target: string
  /** As the store knows it. */
  readonly id: string
  readonly url: string
}

/** What it is told later, and what it says. */
export type Command = { readonly skewMs: number } | 'stop'
export type Said = 'up' | { readonly skewMs: number }

/** How much faster the clocks of a host run, so that a back-off of a second fits into its life. */
export const SPEED = 10
/** Real ms. */
export const TICK_MS = 20
