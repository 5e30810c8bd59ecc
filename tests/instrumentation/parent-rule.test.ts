import { describe, expect, it } from 'vitest'
import { parentOfThread } from '../../instrumentation/events.ts'
import { started, WatchedHost } from '../detector/watched-host.ts'

describe('the parent that a thread id names', () => {
  it.each([
    ['sub.boss.one', 'boss'],
    ['sub.sub.a.b.c', 'sub.a.b'],
    ['sub.a.b.c', 'a.b'],
    ['sub.boss.', 'boss'],
    ['sub.sub.x', 'sub'],
    ['boss', null],
    ['', null],
    ['sub', null],
    ['sub.', null],
    ['sub.boss', null],
    ['sub..one', null],
    ['subs.boss.one', null],
    ['SUB.boss.one', null],
    [' sub.boss.one', null],
  ])('%j: %j', (thread, parent) => {
    expect(parentOfThread(thread)).toBe(parent)
  })

  it('is asked of the host where it has a rule of its own', () => {
    const host = new WatchedHost({ parentOf: (thread) => (thread === 'child' ? 'mother' : null) })
    host
      .sendTo('child', 0, started({ turn: 'a' }))
      .sendTo('sub.boss.one', 0, started({ turn: 'b' }))
      .run(1000)
    expect(['child', 'sub.boss.one'].map((id) => host.watch.liveness(id).parentThreadId)).toEqual(['mother', null])
  })

  it('goes by the rule where the host fails to answer', () => {
    const host = new WatchedHost({
      parentOf: () => {
        throw new Error('no')
      },
    })
    host.sendTo('sub.boss.one', 0, started({ turn: 'b' })).run(1000)
    expect(host.watch.liveness('sub.boss.one').parentThreadId).toBe('boss')
    expect(host.faults).toEqual(['turnwatch: listener: no'])
  })
})
