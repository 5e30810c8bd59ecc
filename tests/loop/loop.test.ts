import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { checkQueries, describeFailure } from '../dashboards/queries.ts'
import { encore, STALE_THREAD } from './encore.ts'
import { playScenes, QUICK } from './play.ts'
import { expected, type Reckoning, reckoned } from './reckoning.ts'
import type { Timing } from './scene.ts'
import { type Stage, setStage } from './stage.ts'
import { timingTable } from './timing-table.ts'

const PLAY_MS = 480_000
const STEP_S = 1
const missing = inject('missing')

describe.skipIf(missing.includes('prometheus') || missing.includes('prometheus-alertmanager'))(
  'hosts, the pack, Prometheus and Alertmanager together',
  () => {
    let stage: Stage
    let timings: Timing[]
    let was: Reckoning
    const is = expected(QUICK)
    const beganAt = Date.now() / 1000

    beforeAll(async () => {
      stage = await setStage(QUICK)
      timings = await playScenes(stage)
      was = await reckoned(stage)
      console.log(`seconds with all times divided by ${QUICK}\n${timingTable(timings)}`)
    }, PLAY_MS)
    afterAll(() => stage?.stop())

    test('fire every alert that the scenes are to bring about, and no other', () => {
      expect(was.fired).toEqual(is.fired)
    })

    test('tell each alert to its receiver, but for those that another one speaks for', () => {
      expect(was.told).toEqual(is.told)
    })

    test('tell the end of each alert that was told', () => {
      expect(was.toldEnds).toEqual(is.toldEnds)
    })

    test('have the notifier tell of each stale turn once, and before Alertmanager does', () => {
      expect(was.notified).toEqual(is.notified)
      const late = timings.filter(({ notifiedAt, toldAt }) => notifiedAt !== null && notifiedAt >= toldAt)
      expect(late).toEqual([])
    })

    test(
      'give every query of the dashboards something to show',
      async () => {
        await encore(stage)
        const to = Date.now() / 1000
        const failures = await checkQueries(stage.prometheus.url, {
          from: beganAt,
          to,
          step: STEP_S,
          rateInterval: '1m',
          variables: { thread: STALE_THREAD },
        })
        expect(failures.map(describeFailure)).toEqual([])
      },
      PLAY_MS,
    )
  },
)
