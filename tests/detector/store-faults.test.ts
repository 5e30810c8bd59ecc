import { describe, expect, it } from 'vitest'
import type { SampleStore, StoredExtras, StoredLearning } from '../../detector/sample-store.ts'
import type { Sample } from '../../instrumentation/turn-stats.ts'
import { extras, sample } from './stored.ts'
import { completed, midStreamRow, started, token, WatchedHost } from './watched-host.ts'

const settle = () => new Promise((resolve) => setImmediate(resolve))
const EMPTY: StoredLearning = { samples: [], extras: [] }

const stored = (count: number, silenceMs: number): Sample[] =>
  Array.from({ length: count }, (_, i) => sample(`stats/old/${i}`, silenceMs))

/** A store in memory that can be told to fail. */
class TestStore implements SampleStore {
  readonly saved: Sample[] = []
  readonly extras: StoredExtras[] = []
  saves = 0
  load: () => StoredLearning | Promise<StoredLearning> = () => EMPTY
  onSave: () => void | Promise<void> = () => {}

  save(samples: readonly Sample[], rows: readonly StoredExtras[]): void | Promise<void> {
    this.saves++
    const result = this.onSave()
    this.saved.push(...samples)
    this.extras.push(...rows)
    return result
  }
}

const healthyTurn = (host: WatchedHost, id: string, at: number) =>
  host.sendTo(id, at, started({ turn: id }), token).sendTo(id, at + 4000, token, completed)

describe('loading', () => {
  it.each<[string, () => StoredLearning | Promise<StoredLearning>]>([
    [
      'throws',
      () => {
        throw new Error('disk on fire')
      },
    ],
    ['rejects', () => Promise.reject(new Error('disk on fire'))],
  ])('that %s is reported once, and the detector goes on from memory and still saves', async (_name, load) => {
    const store = new TestStore()
    store.load = load
    const host = new WatchedHost({ store })
    await settle()
    healthyTurn(host, 'a', 1000).run(10_000)
    await settle()
    expect(host.faults).toEqual(['turnwatch: store: disk on fire'])
    expect(host.watch.self.storeErrors).toEqual({ load: 1, save: 0, close: 0, claim: 0, outbox: 0 })
    expect(store.saved.map(({ id, phase, silenceMs }) => [id, phase, silenceMs])).toEqual([
      ['stats/a/a', 'first-token', 0],
      ['stats/a/a', 'mid-stream', 4000],
    ])
  })

  it('that answers late joins what was learned meanwhile, and what was learned is saved', async () => {
    const store = new TestStore()
    let answer: (learning: StoredLearning) => void = () => {}
    store.load = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    const host = new WatchedHost({ store })
    healthyTurn(host, 'a', 1000)
    host
      .sendTo('k', 6000, started({ turn: 'k' }), token)
      .sendTo('k', 200_000, { kind: 'turn.ended', outcome: 'aborted' })
    host.run(210_000)
    expect([store.saves, midStreamRow(host)?.samples, midStreamRow(host)?.censored]).toEqual([0, 1, 1])
    answer({
      samples: [...stored(19, 6000), { ...stored(1, 9000)[0], id: 'stats/a/a' } as Sample],
      extras: [extras({ censored: 4, largestEverMs: 50_000 })],
    })
    await settle()
    // The stored sample of the turn that was learned live does not count again.
    expect(midStreamRow(host)).toMatchObject({
      samples: 20,
      largestMs: 50_000,
      censored: 5,
      thresholdSource: 'measured',
    })
    host.run(212_000)
    await settle()
    expect(store.saved.map(({ id }) => id)).toEqual(['stats/a/a', 'stats/a/a'])
    expect(store.extras).toContainEqual(extras({ censored: 5, largestEverMs: 50_000 }))
  })

  it('of what no detector can have written is passed over, the rest is taken', () => {
    const store = new TestStore()
    const [good] = stored(1, 5000) as [Sample]
    store.load = () => ({
      samples: [
        { ...good, id: 'n', silenceMs: Number.NaN },
        { ...good, id: 'i', silenceMs: Number.POSITIVE_INFINITY },
        { ...good, id: 'm', silenceMs: -1 },
        { ...good, id: 'p', phase: 'somewhere' as 'mid-stream' },
        { ...good, id: 5 as unknown as string },
        good,
      ],
      extras: [
        extras({ phase: 'nowhere' as 'mid-stream' }),
        extras({ largestEverMs: Number.NaN, censored: Number.NaN, quarantineTurnsLeft: Number.NaN, quarantineMs: 5 }),
        extras({ censored: 2 }),
      ],
    })
    const host = new WatchedHost({ store }).send(0, started({ turn: 't' }), token).run(130_000)
    expect(midStreamRow(host)).toMatchObject({ samples: 1, largestMs: 5000, censored: 2, thresholdMs: 90_000 })
    expect(host.log).toEqual(['91000 t suspect', '113000 t stale silence'])
    expect(host.faults).toEqual([])
  })

  it('brings a quarantined silence back, so that a second one after a restart confirms it', () => {
    const store = new TestStore()
    store.load = () => ({ samples: [], extras: [extras({ quarantineMs: 130_000, quarantineTurnsLeft: 7 })] })
    const host = new WatchedHost({ store })
      .send(0, started({ turn: 't' }), token)
      .send(120_000, token, completed)
      .run(121_000)
    expect(midStreamRow(host)).toMatchObject({ samples: 1, largestMs: 120_000 })
  })
})

describe('saving', () => {
  it.each<[string, () => void | Promise<void>]>([
    [
      'throws',
      () => {
        throw new Error('disk full')
      },
    ],
    ['rejects', () => Promise.reject(new Error('disk full'))],
  ])('that %s is tried again with all that was not saved, and each sample is saved once', async (_name, fail) => {
    const store = new TestStore()
    const written: Sample[] = []
    store.save = (samples) => {
      store.saves++
      if (store.saves <= 2) return fail()
      written.push(...samples)
    }
    const host = new WatchedHost({ store })
    healthyTurn(host, 'a', 1000)
    for (let at = 5000; at <= 9000; at += 1000) {
      host.run(at)
      await settle()
    }
    expect(store.saves).toBe(3)
    expect(written.map(({ id }) => id)).toEqual(['stats/a/a', 'stats/a/a'])
    expect(host.watch.self.storeErrors.save).toBe(2)
    // A store that keeps failing is one line, not one a second.
    expect(host.faults).toEqual(['turnwatch: store: disk full'])
    expect(midStreamRow(host)?.samples).toBe(1)
  })

  it('that is slow holds up no tick, and only one is under way', async () => {
    const store = new TestStore()
    let finish: () => void = () => {}
    store.onSave = () =>
      new Promise((resolve) => {
        finish = resolve
      })
    const host = new WatchedHost({ store })
    healthyTurn(host, 'a', 1000)
    healthyTurn(host, 'b', 7000)
    host.send(10_000, started({ turn: 't' }), token).run(200_000)
    await settle()
    expect(host.log).toEqual(['5000 a completed', '11000 b completed', '101000 t suspect', '123000 t stale silence'])
    expect(store.saves).toBe(1)
    finish()
    await settle()
    host.run(202_000)
    expect(store.saves).toBe(2)
    expect(store.saved).toHaveLength(4)
  })

  it('has happened when the watch has stopped, and a store that fails to close is reported', async () => {
    const store: SampleStore & { saved: number } = {
      saved: 0,
      load: () => EMPTY,
      save: (samples) => {
        store.saved += samples.length
      },
      close: () => {
        throw new Error('stuck')
      },
    }
    const host = new WatchedHost({ store })
    host.send(500, started({ turn: 'a' }), token, completed).run(600)
    await host.watch.stop()
    expect(store.saved).toBe(1 + 1)
    expect(host.faults).toEqual(['turnwatch: store: stuck'])
    expect(host.watch.self.storeErrors.close).toBe(1)
  })
})
