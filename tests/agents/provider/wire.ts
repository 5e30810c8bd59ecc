/** A wire format: how a provider asks, answers and refuses in it. */

import type { ShellCall } from './shell-call.ts'

/** What every answer says that it took. */
export const OUTPUT_TOKENS = 42

/** A model call as it was asked, as far as any wire needs it. */
export interface Asked {
  readonly model: string
  readonly tools: readonly { readonly name?: string; readonly type?: string; readonly function?: { name: string } }[]
}

export interface Frame {
  readonly event?: string
  readonly data: object | string
}

export type Send = (frame: Frame | 'comment') => void

/** One answer under way. Output of one kind that follows output of another opens an item of its own. */
export interface Stream {
  say(delta: string): void
  think(delta: string): void
  /** Begins a call of a tool; its arguments follow piece by piece, up to the end of the answer. */
  call(call: ShellCall): void
  argue(piece: string): void
  keepAlive(): void
  end(): void
}

export interface Wire {
  /** How the address of a model call ends. */
  readonly path: string
  open(asked: Asked, nth: number, send: Send): Stream
  refusal(status: number): object
}
