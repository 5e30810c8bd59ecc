/** A stress of random pauses over healthy and dead turns. Each case is made from its seed, which a failure prints. */

import { describe, expect, it } from 'vitest'
import { started, THREAD, token, WatchedHost } from './watched-host.ts'

const CONFIRM = 1.25
const GRACE_MS = 130_000
const MAX_IN_A_ROW = 3

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Pause {
  /** Certain evidence of sleep, none, or too close to tell apart from here. */
  readonly wake: 'yes' | 'no' | 'maybe'
}

class PausedHost extends WatchedHost {
  readonly random: () => number
  readonly tickFirst: boolean
  readonly thresholdMs: number
  pauses = 0

  constructor(seed: number) {
    const random = randomOf(seed)
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
    const tickFirst = random() < 0.5
    const thresholdMs = pick([6000, 12_000, 20_000, 90_000, 200_000])
    super({
      host: { first: tickFirst ? 'tick' : 'event', timersLateMs: pick([0, 0, 0, 300, 1999, 2000, 2600, 4500]) },
      thresholds: { firstTokenMs: thresholdMs, midStreamMs: thresholdMs, afterToolMs: thresholdMs },
    })
    this.random = random
    this.tickFirst = tickFirst
    this.thresholdMs = thresholdMs
  }

  between(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1))
  }

  /** One random pause; `mayWake` allows those that could count as a wake. */
  pause(mayWake: boolean): Pause {
    this.pauses++
    const kind = this.random()
    if (kind < 0.1) {
      this.host.stepWallClock(this.between(-5_000_000, 5_000_000))
      return { wake: 'no' }
    }
    if (kind < 0.4 || !mayWake) {
      this.host.block(this.between(1, this.random() < 0.5 ? 3500 : 20_000))
      return { wake: 'no' }
    }
    if (kind < 0.5) {
      this.host.block(this.between(20_000, 29_999))
      return { wake: 'maybe' }
    }
    if (kind < 0.6) {
      this.host.sleep(this.now + this.between(1, 1500), true)
      return { wake: 'maybe' }
    }
    if (kind < 0.8) this.host.sleep(this.now + this.between(1501, 4_000_000), true)
    else if (kind < 0.95) this.host.sleep(this.now + this.between(30_000, 4_000_000), false)
    else this.host.block(this.between(30_000, 200_000))
    return { wake: 'yes' }
  }

  /** An event of the turn, at the first moment there is one; the tick that is due goes before it or after it. */
  progress(): void {
    if (this.tickFirst) this.run(this.now)
    this.watch.observe(THREAD, token)
  }
}

/**
 * A turn whose every gap is at most the threshold in observed time, whose events can be read at the first moment that the
 * process runs again or at most 130 s after a wake, with at most three wakes in a row without progress.
 */
function healthy(seed: number): PausedHost {
  const host = new PausedHost(seed)
  // An event that happens in a pause is read when it ends: beyond the threshold, by 3 s at most.
  const overshoot = host.thresholdMs >= 12_000 && host.random() < 0.5
  host.watch.observe(THREAD, started({ turn: 't' }))
  for (let i = 0; i < 25; i++) {
    const gap = host.random() < 0.5 ? host.thresholdMs : host.between(0, host.thresholdMs)
    const due = host.observedNow + gap
    let wakes = 0
    /** True ms at which the event comes because of a wake; null while the gap decides. */
    let afterWake: number | null = null
    for (;;) {
      const left = afterWake === null ? due - host.observedNow : afterWake - host.now
      if (left <= 0) break
      if (host.random() < 0.12 && (overshoot || afterWake !== null || left >= 3000)) {
        const { wake } = host.pause(wakes < MAX_IN_A_ROW)
        if (wake !== 'no') wakes++
        if (wake === 'yes') afterWake = host.random() < 0.5 ? host.now + host.between(0, GRACE_MS) : null
        if (wake === 'maybe') afterWake = null
      } else host.run(host.now + Math.min(left, host.between(1, 6000)))
    }
    host.progress()
  }
  expect(
    host.log.filter((line) => !overshoot || line.includes('stale')),
    `seed ${seed}`,
  ).toEqual([])
  return host
}

/** A turn that gets nothing any more; pauses go on until it is flagged. */
function dead(seed: number): PausedHost {
  const host = new PausedHost(seed)
  host.watch.observe(THREAD, started({ turn: 't' }))
  let from = host.observedNow
  // A turn that starts within a tick of a wake counts as having started after it.
  host.run(8000)
  let graceUntil = 0
  let holdsMs = 0
  let restarts = 0
  let holds = 0
  host.onTick = (gapMs, sleptMs) => {
    if (gapMs >= 30_000 || sleptMs > 1500) {
      if (++restarts > MAX_IN_A_ROW) return
      from = host.observedMs
      graceUntil = from + GRACE_MS
    } else if (gapMs >= 3000 && ++holds <= MAX_IN_A_ROW) holdsMs += 2 * gapMs + 5000
  }
  const bound = () => Math.max(from + CONFIRM * host.thresholdMs, graceUntil) + holdsMs + 6 * 3000
  const often = host.random() * 0.2
  while (!host.log.some((line) => line.includes('stale')) && host.observedNow <= bound()) {
    if (host.random() < often) host.pause(true)
    else host.run(host.now + host.between(1, 6000))
  }
  expect(
    host.log.map((line) => line.replace(/^\d+ /, '')).at(-1),
    `seed ${seed}: not flagged by ${bound()} ms of observed time`,
  ).toBe('t stale silence')
  expect(host.verdicts.at(-1)?.silenceMs, `seed ${seed}`).toBeGreaterThan(CONFIRM * host.thresholdMs)
  // And it stays flagged, once, over everything that follows.
  const said = host.log.length
  for (let i = 0; i < 20; i++) {
    host.pause(true)
    host.run(host.now + host.between(1, 60_000))
  }
  expect(host.log.slice(said), `seed ${seed}`).toEqual([])
  return host
}

const seeds = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

describe('over thousands of random pauses', () => {
  it('no healthy turn is ever flagged', () => {
    const hosts = seeds(1000, 400).map(healthy)
    const pauses = hosts.reduce((sum, host) => sum + host.pauses, 0)
    const suspends = hosts.reduce((sum, { watch }) => sum + watch.self.suspends, 0)
    const late = hosts.reduce((sum, { watch }) => sum + watch.self.lateTicks, 0)
    expect(pauses).toBeGreaterThan(10_000)
    expect(suspends).toBeGreaterThan(2000)
    expect(late).toBeGreaterThan(2000)
  })

  it('every dead turn is flagged once, by max(1.25 T, rest of the grace), its holds and six ticks', () => {
    const hosts = seeds(5000, 600).map(dead)
    expect(hosts.reduce((sum, host) => sum + host.pauses, 0)).toBeGreaterThan(10_000)
  })
})
