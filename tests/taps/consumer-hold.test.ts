import { beforeEach, describe, expect, it } from 'vitest'
import { ConsumerHold } from '../../instrumentation/taps/consumer-hold.ts'
import { HandTimers } from './recorder.ts'

let timers: HandTimers
let changes: string[]
let hold: ConsumerHold

beforeEach(() => {
  timers = new HandTimers()
  changes = []
  hold = new ConsumerHold(timers.later, (isHeld) => changes.push(`${timers.now} ${isHeld ? 'holds' : 'asks'}`))
})

describe('a consumer', () => {
  it('holds the stream when it asks for nothing for a second', () => {
    hold.asks()
    hold.holds()
    timers.pass(3000)
    hold.asks()
    timers.pass(3000)
    expect(changes).toEqual(['1000 holds', '3000 asks'])
  })

  it('that asked meanwhile is timed from then, to the next second', () => {
    hold.holds()
    timers.pass(900)
    hold.asks()
    hold.holds()
    timers.pass(5000)
    expect(changes).toEqual(['2000 holds'])
  })

  it('that has asked does not hold it, however long the answer takes', () => {
    hold.holds()
    hold.asks()
    timers.pass(60_000)
    expect(changes).toEqual([])
  })

  it('has one timer at most, and none once it has asked', () => {
    const counts: number[] = []
    for (let i = 0; i < 100; i++) {
      hold.asks()
      hold.holds()
      counts.push(timers.pending)
    }
    hold.asks()
    timers.pass(1000)
    expect([Math.max(...counts), timers.pending]).toEqual([1, 0])
  })
})
