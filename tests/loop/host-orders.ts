/** What a host process of the stage is told, and what it says. */

import type { TurnEvent } from '../../index.ts'

/** How a host is set up when it starts. */
export interface HostPlan {
  readonly port: number
  /** Where its two webhooks go. */
  readonly parentsUrl: string
  readonly pagerUrl: string
  /** The watch's own times are those of the package, divided by this. */
  readonly divisor: number
}

export interface TurnPlan {
  readonly thread: string
  readonly provider: string
  readonly model: string
  /** The process of its agent. */
  readonly pid?: number
}

export type Order =
  /** Begins a turn, which says nothing yet. */
  | ({ readonly do: 'start' } & TurnPlan)
  /** Says a token every half a second from now on, until it is told something else. */
  | { readonly do: 'stream'; readonly thread: string }
  | { readonly do: 'hush'; readonly thread: string }
  /** Of its turn, or of a thread that has none yet. */
  | { readonly do: 'observe'; readonly thread: string; readonly event: TurnEvent; readonly inMs?: number }
  /** One healthy turn after the other, each with tools, waits and usage; for ever. */
  | ({ readonly do: 'work' } & TurnPlan)
  /** Whether the detector ticks. */
  | { readonly do: 'tick'; readonly on: boolean }
  /** The machine sleeps for so long, and wakes. */
  | { readonly do: 'sleep'; readonly ms: number }
  /** Meets an event of a type that no source knows, and a fault of its own. */
  | { readonly do: 'stumble' }

/** Times are epoch ms. */
export type Said =
  | { readonly said: 'up' }
  | { readonly said: 'stale'; readonly thread: string; readonly at: number; readonly silenceMs: number }
  | { readonly said: 'ended'; readonly thread: string }
