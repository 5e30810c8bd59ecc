import { describe, expect, it } from 'vitest'
import { watchIterable } from '../../instrumentation/sources/index.ts'
import { WatchedHost } from '../detector/watched-host.ts'
import { answer, api, undated } from './recorder.ts'

/** A stream that gives an answer's events when it is told to. */
function watchedAnswer(host: WatchedHost) {
  let give = () => {}
  const given = (): Promise<void> =>
    new Promise((resolve) => {
      give = resolve
    })
  async function* events() {
    for (const event of answer) {
      await given()
      yield event
    }
  }
  const stream = watchIterable(events(), host.watch, {
    source: api.source,
    thread: 't',
    later: (ms, work) => host.host.after(ms, work),
  })
  return { next: () => stream.next(), give: () => give() }
}

const minutes = 60_000

describe('a watched stream', () => {
  it('whose request is never answered is flagged as from the request', async () => {
    const host = new WatchedHost()
    host.run(10 * minutes)
    void watchedAnswer(host).next()
    host.run(20 * minutes)
    expect(host.log.map((line) => line.replace(/ \S+/, ' turn'))).toEqual([
      `${10 * minutes + 121_000} turn suspect`,
      `${10 * minutes + 151_000} turn stale silence`,
    ])
    expect(host.verdicts.map(({ phase, provider }) => `${phase} ${provider}`)).toEqual([
      'first-token anthropic',
      'first-token anthropic',
    ])
  })

  it('is one turn from its request to its end', async () => {
    const host = new WatchedHost()
    const stream = watchedAnswer(host)
    for (let at = 0; at < answer.length; at++) {
      const step = stream.next()
      host.run(host.now + 1000)
      stream.give()
      await step
    }
    expect(host.log.map(undated)).toEqual(['3000 msg completed'])
    expect(host.ended.map(({ stats }) => [stats.provider, stats.model, stats.timeToFirstTokenMs])).toEqual([
      ['anthropic', 'm', 2000],
    ])
    expect(host.metric('turns_started_total')).toBe(1)
  })

  it('is not flagged while its consumer does other things, but when its provider then says nothing', async () => {
    const host = new WatchedHost()
    const stream = watchedAnswer(host)
    for (let at = 0; at < 2; at++) {
      const step = stream.next()
      stream.give()
      await step
    }
    host.run(30 * minutes)
    expect([host.log, host.state()]).toEqual([[], 'waiting'])
    void stream.next()
    host.run(60 * minutes)
    expect(host.log.map(undated)).toEqual([
      `${30 * minutes + 91_000} msg suspect`,
      `${30 * minutes + 113_000} msg stale silence`,
    ])
  })

  it('is flagged for its own silence alone when an older one in its thread is cut late', async () => {
    const host = new WatchedHost()
    const cut = Promise.withResolvers<void>()
    async function* hanging() {
      await cut.promise
      yield* []
    }
    const options = {
      source: api.source,
      thread: 't',
      later: (ms: number, work: () => void) => host.host.after(ms, work),
    }
    const old = watchIterable(hanging(), host.watch, options).next()
    host.run(20_000)
    const young = watchedAnswer(host)
    const step = young.next()
    cut.resolve()
    await old
    young.give()
    await step
    void young.next()
    host.run(10 * minutes)
    expect(host.log.map(undated).map((line) => line.replace(/ \S+ aborted/, ' old aborted'))).toEqual([
      '20000 old aborted',
      '141000 msg suspect',
      '171000 msg stale silence',
    ])
  })
})
