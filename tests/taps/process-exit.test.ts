import { beforeEach, describe, expect, it } from 'vitest'
import { type Exit, ProcessExit } from '../../instrumentation/taps/process-exit.ts'
import { HandTimers } from './recorder.ts'

let timers: HandTimers
let judged: { at: number; code: Exit['code'] }[]
let exit: ProcessExit
const failed: Exit = { code: 1, signal: null }

beforeEach(() => {
  timers = new HandTimers()
  judged = []
  exit = new ProcessExit(timers.later, ({ code }) => judged.push({ at: timers.now, code }))
})

describe('the exit of a process is judged', () => {
  it('at its close', () => {
    exit.exited(failed)
    timers.pass(100)
    exit.closed(failed)
    timers.pass(10_000)
    expect(judged).toEqual([{ at: 100, code: 1 }])
  })

  it('at once when its output has ended', () => {
    exit.outputEnded()
    timers.pass(100)
    exit.exited(failed)
    timers.pass(10_000)
    expect(judged).toEqual([{ at: 100, code: 1 }])
  })

  it('half a second after its output ended, when it stays', () => {
    exit.outputEnded()
    timers.pass(10_000)
    expect(judged).toEqual([{ at: 500, code: null }])
  })

  it('when its pipe was quiet for half a second, and what was ready has been read', () => {
    exit.exited(failed)
    timers.pass(10_000)
    expect(judged).toEqual([{ at: 550, code: 1 }])
  })

  it('not while its output still comes', () => {
    exit.exited(failed)
    timers.pass(400)
    exit.moved(false)
    timers.pass(120)
    expect(judged).toEqual([])
    // What was in the pipe all the time, read only after the timers of a process that was stopped.
    exit.moved(false)
    timers.pass(30)
    expect(judged).toEqual([])
    timers.pass(10_000)
    expect(judged).toEqual([{ at: 1100, code: 1 }])
  })

  it('in the end, however much somebody else has to say', () => {
    exit.exited(failed)
    for (let ms = 0; ms < 20_000; ms += 100) {
      exit.moved(false)
      timers.pass(100)
    }
    expect(judged).toEqual([{ at: 5500, code: 1 }])
  })

  it('not while its host leaves its output unread', () => {
    exit.moved(true)
    exit.exited(failed)
    timers.pass(100_000)
    exit.unblocked()
    exit.moved(true)
    timers.pass(100_000)
    expect(judged).toEqual([])
    exit.unblocked()
    timers.pass(10_000)
    expect(judged).toEqual([{ at: 200_550, code: 1 }])
  })

  it('by one timer at a time, however often its host reads', () => {
    exit.exited(failed)
    for (let i = 0; i < 10; i++) exit.unblocked()
    expect(timers.pending).toBe(1)
  })

  it('never when nobody wants to know', () => {
    exit.exited(failed)
    exit.stop()
    exit.closed(failed)
    timers.pass(10_000)
    expect(judged).toEqual([])
  })
})
