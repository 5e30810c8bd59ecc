/** What the provider does, as data: a scene is the answers to a run's model calls, one after the other. */

export type Step =
  /** Output of the model, a delta each. */
  | { readonly do: 'say' | 'think'; readonly deltas: readonly string[] }
  /** A call of the agent's shell, its arguments in so many pieces, one every so many ms. */
  | { readonly do: 'call'; readonly command: string; readonly pieces: number; readonly everyMs: number }
  /** Nothing of the model for so long; keep-alives meanwhile unless they are 0. */
  | { readonly do: 'pause'; readonly ms: number; readonly keepAliveMs: number }
  /** An error instead of a stream; `retryAfterS` is what its header asks for. */
  | { readonly do: 'refuse'; readonly status: number; readonly retryAfterS: number | null }
  /** The connection is closed in the middle of the answer. */
  | { readonly do: 'cut' }

/** The steps of one answer. One that ends without a refusal or a cut is ended as the wire ends a good one. */
export type Answer = readonly Step[]

/** Calls after the last answer get that one again. */
export type Scene = readonly [Answer, ...Answer[]]

export const say = (...deltas: readonly string[]): Step => ({ do: 'say', deltas })
export const think = (...deltas: readonly string[]): Step => ({ do: 'think', deltas })
export const call = (command: string, { pieces = 2, everyMs = 100 } = {}): Step => ({
  do: 'call',
  command,
  pieces,
  everyMs,
})
export const pause = (ms: number, keepAliveMs = 0): Step => ({ do: 'pause', ms, keepAliveMs })
/** Never anything of the model again. */
export const hang = (keepAliveMs = 0): Step => pause(Number.POSITIVE_INFINITY, keepAliveMs)
export const refuse = (status: number, retryAfterS: number | null = null): Step => ({
  do: 'refuse',
  status,
  retryAfterS,
})
export const cut: Step = { do: 'cut' }
