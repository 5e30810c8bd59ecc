import { describe, expect, it, vi } from 'vitest'
import { Dispatches } from '../../hosts/t3/dispatches.ts'

class Rejected extends Error {
  readonly _tag = 'OrchestrationCommandPreviouslyRejectedError'
}

describe('commands that nobody waits for', () => {
  it('are tried again with pauses, a rejected one never, and the next goes on', async () => {
    vi.useFakeTimers()
    try {
      const faults: unknown[] = []
      const dispatches = new Dispatches((error) => faults.push(error))
      const tried = { failing: 0, rejected: 0, good: 0 }
      dispatches.add(() => {
        tried.failing++
        return tried.failing < 3 ? Promise.reject(new Error('locked')) : Promise.resolve()
      })
      dispatches.add(() => {
        tried.rejected++
        return Promise.reject(new Rejected('no'))
      })
      dispatches.add(async () => {
        tried.good++
      })
      await vi.advanceTimersByTimeAsync(60_000)
      expect(tried).toEqual({ failing: 3, rejected: 1, good: 1 })
      expect(faults).toEqual([expect.any(Rejected)])
    } finally {
      vi.useRealTimers()
    }
  })

  it('without an answer do not hold up the others for ever, and are reported', async () => {
    vi.useFakeTimers()
    try {
      const faults: Error[] = []
      const dispatches = new Dispatches((error) => faults.push(error as Error))
      let done = 0
      for (let i = 0; i < 4; i++) dispatches.add(() => new Promise(() => {}))
      dispatches.add(async () => {
        done++
      })
      await vi.advanceTimersByTimeAsync(10_000)
      expect(done).toBe(0)
      await vi.advanceTimersByTimeAsync(300_000)
      expect(done).toBe(1)
      expect(faults.map(({ message }) => message)).toEqual(
        Array.from({ length: 4 }, () => 'the engine has not answered a command'),
      )
    } finally {
      vi.useRealTimers()
    }
  })
})
