import { describe, expect, it } from 'vitest'
import { createRetryBudget, withStallRetries } from '../../detector/watchdog/index.ts'
import { answers, model, settling, stalls } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

/** Takes until nothing is left. */
function takeAll(budget: { take(): boolean }): number {
  let taken = 0
  while (taken < 1000 && budget.take()) taken++
  return taken
}

describe('a retry budget', () => {
  it('allows so many retries at once, and no more', () => {
    const budget = createRetryBudget({ retries: 3, perMs: 1000, clock: new VirtualClock() })
    expect(takeAll(budget)).toBe(3)
    expect(budget.take()).toBe(false)
  })

  it('comes back evenly over its period', async () => {
    const clock = new VirtualClock()
    const budget = createRetryBudget({ retries: 4, perMs: 1000, clock })
    expect(takeAll(budget)).toBe(4)
    await clock.advance(249)
    expect(budget.take()).toBe(false)
    await clock.advance(2)
    expect(takeAll(budget)).toBe(1)
    await clock.advance(500)
    expect(takeAll(budget)).toBe(2)
  })

  it('does not add up beyond one period', async () => {
    const clock = new VirtualClock()
    const budget = createRetryBudget({ retries: 2, perMs: 1000, clock })
    await clock.advance(1_000_000)
    expect(takeAll(budget)).toBe(2)
  })

  it('is per minute unless said otherwise', async () => {
    const clock = new VirtualClock()
    const budget = createRetryBudget({ retries: 1, clock })
    expect(takeAll(budget)).toBe(1)
    await clock.advance(59_000)
    expect(budget.take()).toBe(false)
    await clock.advance(1001)
    expect(budget.take()).toBe(true)
  })

  it('keeps no timer', () => {
    const clock = new VirtualClock()
    createRetryBudget({ retries: 1, clock }).take()
    expect(clock.timers.size).toBe(0)
  })

  it.each([
    ['retries', { retries: 0 }],
    ['retries', { retries: -1 }],
    ['retries', { retries: Number.NaN }],
    ['retries', { retries: '3' }],
    ['retries', {}],
    ['perMs', { retries: 1, perMs: 0 }],
    ['perMs', { retries: 1, perMs: Number.NaN }],
  ])('refuses %s that are no positive number: %j', (name, options) => {
    expect(() => createRetryBudget(options as never)).toThrow(RangeError)
    expect(() => createRetryBudget(options as never)).toThrow(new RegExp(`^${name}: `))
  })
})

describe('calls that share a budget', () => {
  it('issue again so often, all together; then each throws its stall', async () => {
    const clock = new VirtualClock()
    const budget = createRetryBudget({ retries: 3, clock })
    const options = { maxStallRetries: 2, backoff: 0, budget, clock }
    const models = [0, 1, 2].map(() => model(clock, [stalls]))
    const calls = models.map(({ fn }) => settling(withStallRetries(fn, options)))
    await clock.advance(1000)
    expect(calls.map(({ outcome }) => outcome)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(models.reduce((sum, { tries }) => sum + tries.length, 0)).toBe(3 + 3)
    for (const { error } of calls) expect(error).toMatchObject({ name: 'StreamStalledError', phase: 'first_content' })
  })

  it('take nothing of it where nothing is issued again', async () => {
    const clock = new VirtualClock()
    const budget = createRetryBudget({ retries: 2, clock })
    const options = { maxStallRetries: 1, backoff: 0, budget, clock }
    const good = settling(withStallRetries(model(clock, [answers('hello')]).fn, options))
    const off = settling(withStallRetries(model(clock, [stalls]).fn, { ...options, maxStallRetries: 0 }))
    const broken = settling(withStallRetries(() => Promise.reject(new Error('refused')), options))
    await clock.advance(50)
    expect([good.outcome, off.outcome, broken.outcome]).toEqual(['resolved', 'resolved', 'rejected'])
    expect(takeAll(budget)).toBe(2)
  })

  it('take nothing of it for the stall that is the last', async () => {
    const clock = new VirtualClock()
    const budget = createRetryBudget({ retries: 2, perMs: 1e9, clock })
    const call = settling(
      withStallRetries(model(clock, [stalls]).fn, { maxStallRetries: 1, backoff: 0, budget, clock }),
    )
    await clock.advance(1000)
    expect(call.outcome).toBe('rejected')
    expect(takeAll(budget)).toBe(1)
  })

  it('hear of no retry that the budget refuses, and throw the stall at once', async () => {
    const clock = new VirtualClock()
    const heard: number[] = []
    let asked = 0
    const budget = { take: () => ++asked <= 1 }
    const { fn, tries } = model(clock, [stalls])
    const onRetry = ({ attempt }: { attempt: number }) => heard.push(attempt)
    const call = settling(withStallRetries(fn, { maxStallRetries: 5, backoff: 0, budget, onRetry, clock }))
    await clock.advance(250)
    await settle()
    expect([heard, asked, tries.length]).toEqual([[2], 2, 2])
    expect(call.error).toMatchObject({ attempt: 2 })
  })
})
