import { describe, expect, it } from 'vitest'
import { type StallFacts, StreamControl, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { allowNoUnhandledRejections } from './faults.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { completed, created, delta, progress } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

allowNoUnhandledRejections()

describe('onWarn', () => {
  /** Reads a stream, and notes each warning with its time. */
  function warned(script: readonly Line[], options: WatchOptions) {
    const clock = new VirtualClock()
    const start = clock.monoMs()
    const warnings: [number, StallFacts][] = []
    const onWarn = (warning: StallFacts) => warnings.push([clock.monoMs() - start, warning])
    const { stream } = pushed(clock, script)
    const seen = reading(clock, watchStream(stream, { source, clock, onWarn, ...options }))
    return { clock, seen, warnings, settings: () => warnings.map(([at, { setting }]) => [at, setting]) }
  }

  it.each([
    ['firstContentMs', [[0, created]], 500, 'first_content', 0, 1],
    ['contentIntervalMs', [[100, delta('x')]], 600, 'between_content', 100, 1],
    [
      'livenessMs',
      [
        [100, delta('x')],
        [0, progress],
      ],
      600,
      'liveness',
      100,
      2,
    ],
    ['totalMs', [[100, delta('x')]], 500, 'total', 0, 1],
  ] as const)(
    'hears of %s at half of it, with what is known then',
    async (setting, script, at, phase, since, events) => {
      const sources = { [setting]: 'measured' }
      const { clock, warnings } = warned([...script, [0, 'hang']], { [setting]: 1000, sources, attempt: 2 })
      await clock.advance(999)
      expect(warnings).toEqual([
        [
          at,
          {
            phase,
            timeoutMs: 1000,
            elapsedMs: at - since,
            receivedAnyContent: setting !== 'firstContentMs',
            deliveredEvents: events,
            lastEventType: script.at(-1)?.[1].type,
            setting,
            settingSource: 'measured',
            attempt: 2,
          },
        ],
      ])
    },
  )

  it('hears of headersMs at half of it', async () => {
    const clock = new VirtualClock()
    const warnings: StallFacts[] = []
    const options = { headersMs: 1000, clock, onWarn: (warning: StallFacts) => warnings.push(warning) }
    watchStream(new Promise(() => {}), options).catch(() => {})
    await clock.advance(499)
    expect(warnings).toEqual([])
    await clock.advance(1000)
    expect(warnings).toMatchObject([
      {
        phase: 'headers',
        setting: 'headersMs',
        timeoutMs: 1000,
        elapsedMs: 500,
        deliveredEvents: 0,
        lastEventType: null,
      },
    ])
  })

  it('hears at another share where it is told one', async () => {
    const { clock, settings } = warned(dead, { contentIntervalMs: 1000, warnAt: 0.9 })
    await clock.advance(5000)
    expect(settings()).toEqual([[900, 'contentIntervalMs']])
  })

  it('hears once of a silence, and again of the next', async () => {
    const script = [
      [0, delta('a')],
      [700, delta('b')],
      [300, delta('c')],
      [800, delta('d')],
      [0, 'hang'],
    ] as Line[]
    const { clock, seen, settings } = warned(script, { contentIntervalMs: 1000 })
    await clock.advance(5000)
    expect(settings()).toEqual([
      [500, 'contentIntervalMs'],
      [1500, 'contentIntervalMs'],
      [2300, 'contentIntervalMs'],
    ])
    expect(seen.endedAt).toBe(2800)
  })

  it('hears once of a silence in which the stream still lives', async () => {
    const beats = Array.from({ length: 20 }, () => [80, progress] as const)
    const { clock, settings } = warned([[0, delta('a')], ...beats], { contentIntervalMs: 1000, livenessMs: 100 })
    await clock.advance(1600)
    expect(settings().filter(([, setting]) => setting === 'contentIntervalMs')).toEqual([[500, 'contentIntervalMs']])
    // Each of these silences is one of its own.
    expect(settings().slice(0, 3)).toEqual([
      [50, 'livenessMs'],
      [130, 'livenessMs'],
      [210, 'livenessMs'],
    ])
  })

  it('hears of every deadline that is half used up', async () => {
    const options = { contentIntervalMs: 1000, livenessMs: 600, totalMs: 1800 }
    const { clock, settings } = warned(dead, options)
    await clock.advance(5000)
    expect(settings()).toEqual([
      [300, 'livenessMs'],
      [500, 'contentIntervalMs'],
    ])
  })

  it('hears once of a silence that is half used up over several reads', async () => {
    const beats = Array.from({ length: 30 }, () => [30, progress] as const)
    const { clock, settings } = warned([[0, delta('a')], ...beats, [0, 'hang']], { contentIntervalMs: 400 })
    await clock.advance(5000)
    expect(settings()).toEqual([[200, 'contentIntervalMs']])
  })

  it('hears of the first content only until there is one', async () => {
    const { clock, settings } = warned(
      [
        [400, delta('a')],
        [0, 'hang'],
      ] as Line[],
      { firstContentMs: 1000 },
    )
    await clock.advance(5000)
    expect(settings()).toEqual([])
  })

  it('hears nothing after the terminal event: the wait for the end is no stall', async () => {
    const script = [
      [0, delta('a')],
      [0, completed],
      [0, 'hang'],
    ] as Line[]
    const { clock, seen, settings } = warned(script, { drainMs: 1000, contentIntervalMs: 500, totalMs: 4000 })
    await clock.advance(5000)
    expect(settings()).toEqual([])
    expect([seen.outcome, seen.endedAt]).toEqual(['done', 1000])
  })

  it('hears of the whole time while the consumer holds', async () => {
    const clock = new VirtualClock()
    const warnings: StallFacts[] = []
    const { stream } = pushed(clock, [
      [0, delta('x')],
      [0, 'end'],
    ] as Line[])
    const onWarn = (warning: StallFacts) => warnings.push(warning)
    reading(clock, watchStream(stream, { source, clock, totalMs: 1000, onWarn }), 5000)
    await clock.advance(800)
    expect(warnings).toMatchObject([{ phase: 'total', elapsedMs: 500 }])
  })

  it('hears of a silence again after a pause, which began it anew', async () => {
    const control = new StreamControl()
    const { clock, settings } = warned(dead, { contentIntervalMs: 1000, control })
    await clock.advance(700)
    control.pause()
    await clock.advance(5000)
    control.resume()
    await clock.advance(700)
    expect(settings()).toEqual([
      [500, 'contentIntervalMs'],
      [6200, 'contentIntervalMs'],
    ])
  })

  it('hears once of the whole time, which a pause does not begin anew', async () => {
    const control = new StreamControl()
    const { clock, settings } = warned(dead, { totalMs: 1000, control })
    for (let pause = 0; pause < 3; pause++) {
      await clock.advance(200)
      control.pause()
      await clock.advance(5000)
      control.resume()
    }
    await clock.advance(5000)
    expect(settings()).toEqual([[10_500, 'totalMs']])
  })

  it('may pause the stream that it is told of', async () => {
    const control = new StreamControl()
    const { clock, seen } = warned(dead, { contentIntervalMs: 1000, control, onWarn: () => control.pause() })
    await clock.advance(20_000)
    expect(seen.outcome).toBe(undefined)
    control.resume()
    await clock.advance(499)
    expect(seen.outcome).toBe(undefined)
    control.resume()
  })

  it('may abort the stream that it is told of, and hears of nothing more', async () => {
    const controller = new AbortController()
    const reason = new Error('too slow')
    const heard: string[] = []
    const options: WatchOptions = {
      contentIntervalMs: 1000,
      livenessMs: 1000,
      totalMs: 1000,
      signal: controller.signal,
      onWarn: ({ setting }) => {
        heard.push(setting)
        controller.abort(reason)
      },
      onStall: () => heard.push('stall'),
    }
    const { clock, seen } = warned(dead, options)
    await clock.advance(20_000)
    expect(seen.outcome).toBe(reason)
    expect(seen.endedAt).toBe(500)
    expect(heard.length).toBe(1)
    expect(clock.timers.size).toBe(0)
  })
})
