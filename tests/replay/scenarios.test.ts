import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { differences, parseScenario, replayScenario } from '../../hosts/replay/scenario.ts'

const folder = new URL('../../examples/scenarios/', import.meta.url)
const scenarios = readdirSync(folder).map((file) => parseScenario(file, readFileSync(new URL(file, folder), 'utf8')))

it('all 56 are here', () => {
  expect(scenarios).toHaveLength(56)
  expect(scenarios.every((scenario) => scenario.expect !== undefined)).toBe(true)
})

describe.each(['event', 'tick'] as const)('where an %s goes first at the same instant', (first) => {
  it.each(scenarios.map((scenario) => [scenario.id, scenario] as const))(
    '%s gives the expected verdicts',
    (_, scenario) => {
      expect(differences(scenario.expect ?? [], replayScenario('', scenario, { first }))).toEqual([])
    },
  )
})

describe('a comparison', () => {
  const result = (...verdicts: object[]) => ({ file: '', id: '', turns: [], verdicts }) as never
  const found = {
    turn: 'A',
    verdict: 'stale',
    reason: 'silence',
    at: 1500,
    phase: 'mid-stream',
    thresholdMs: 1,
    thresholdSource: 'default',
    silenceMs: 1,
  }
  const want = { turn: 'A', verdict: 'stale' as const, at: 1000 }

  it('allows one second, or the range where one is given', () => {
    expect(differences([want], result(found))).toEqual([])
    expect(differences([want], result({ ...found, at: 2001 }))).toHaveLength(2)
    expect(differences([{ ...want, atRange: [0, 1499] }], result(found))).toHaveLength(2)
  })

  it('names what is missing, what is too much and what is another reason, phase or threshold', () => {
    expect(differences([want], result())).toEqual(['expected A stale between 1000 and 2000, found none'])
    expect(differences([], result(found))).toEqual(['did not expect A stale silence mid-stream at 1500'])
    expect(differences([{ ...want, reason: 'provider-dead' }], result(found))).toHaveLength(2)
    expect(differences([{ ...want, phase: 'first-token' }], result(found))).toHaveLength(2)
    expect(differences([{ ...want, thresholdMs: 2 }], result(found))).toHaveLength(2)
    expect(differences([], result({ ...found, verdict: 'suspect' }))).toEqual([])
  })
})

describe('a restart of the host', () => {
  it('forgets its turns, keeps what it learned, and a restored turn gets its full window', () => {
    const learned = Array.from({ length: 20 }, (_, i) => ({
      id: `s${i}`,
      provider: 'p',
      model: 'm',
      outcome: 'completed',
      timeToFirstTokenMs: 10_000,
      maxGapMs: 18_000,
    }))
    const scenario = parseScenario(
      'restart.json',
      JSON.stringify({
        id: 'restart',
        history: learned,
        timeline: [
          { at: 0, kind: 'turn.started', turn: 'A', provider: 'p', model: 'm' },
          { at: 1000, kind: 'token', stream: 'text', turn: 'A' },
          { at: 20_000, kind: 'host.restarted' },
          { at: 21_000, kind: 'turn.restored', turn: 'A', provider: 'p', model: 'm' },
        ],
        until: 60_000,
      }),
    )
    const stale = replayScenario('', scenario).verdicts.filter(({ verdict }) => verdict === 'stale')
    expect(stale).toEqual([
      expect.objectContaining({
        turn: 'A',
        at: 40_000,
        phase: 'first-token',
        thresholdMs: 15_000,
        thresholdSource: 'measured',
      }),
    ])
  })
})
