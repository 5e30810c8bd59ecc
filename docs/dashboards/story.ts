/** What happens to the fleet of the pictures: when its provider stalls, which host sleeps, when the webhook fails. */

export interface Window {
  /** True ms since the history's start. */
  readonly fromMs: number
  readonly toMs: number
}

export interface Story {
  /** All of it, of which the pictures leave out the beginning. */
  readonly lengthMs: number
  readonly shownMs: number
  /** Epoch ms at the end of the history. */
  readonly endMs: number
  readonly seed: number
  /** Everything on this provider stands still. */
  readonly stall: Window & { readonly provider: string }
  readonly suspend: Window & { readonly host: string }
  readonly webhookFails: Window
  /** When a host begins again, with a newer version. */
  readonly upgrades: Readonly<Record<string, number>>
  /** From when on a thread uses a model that was not there before. */
  readonly newModelMs: number
}

const MINUTE_MS = 60_000
const END_MS = Date.parse('2026-03-12T15:00:00Z')

/** Three hours, and half an hour before them, as the pictures show them. */
export const LONG_STORY: Story = {
  lengthMs: minutes(210),
  shownMs: minutes(180),
  endMs: END_MS,
  seed: 7,
  upgrades: { 'build-1': minutes(58), 'build-2': minutes(61) },
  suspend: { host: 'laptop-ana', fromMs: minutes(88), toMs: minutes(94) },
  stall: { provider: 'claudeAgent', fromMs: minutes(126), toMs: minutes(138) },
  webhookFails: { fromMs: minutes(127), toMs: minutes(149) },
  newModelMs: minutes(174),
}

/** The same in a third of an hour, for tests. */
export const SHORT_STORY: Story = {
  lengthMs: minutes(20),
  shownMs: minutes(19),
  endMs: END_MS,
  seed: 7,
  upgrades: { 'build-1': minutes(2) },
  suspend: { host: 'laptop-ana', fromMs: minutes(3), toMs: minutes(5) },
  stall: { provider: 'claudeAgent', fromMs: minutes(6), toMs: minutes(12) },
  webhookFails: { fromMs: minutes(6), toMs: minutes(15) },
  newModelMs: minutes(7),
}

function minutes(count: number): number {
  return count * MINUTE_MS
}

export function isWithin(nowMs: number, { fromMs, toMs }: Window): boolean {
  return nowMs >= fromMs && nowMs < toMs
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
