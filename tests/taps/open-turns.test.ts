import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../instrumentation/events.ts'
import { OpenTurns } from '../../instrumentation/taps/open-turns.ts'

const token: TurnEvent = { kind: 'token', stream: 'text' }
const ended: TurnEvent = { kind: 'turn.ended', outcome: 'completed' }
const started: TurnEvent = { kind: 'turn.started' }
const side: TurnEvent = { kind: 'side', what: 'ping' }

/** The threads with an open turn after the events, with its id where it has one. */
function openAfter(...events: readonly (TurnEvent | [string, TurnEvent])[]): string[] {
  const open = new OpenTurns()
  for (const event of events) {
    if (Array.isArray(event)) open.note(...event)
    else open.note('t', event)
  }
  return [...open.of({ kind: 'exit' })].map(([thread, { turn }]) => (turn === undefined ? thread : `${thread} ${turn}`))
}

const of = (turn: string, event: TurnEvent): TurnEvent => ({ ...event, turn })

describe('open turns', () => {
  it.each([
    ['none at first', [], []],
    ['one that started', [started], ['t']],
    ['one that content opened', [token], ['t']],
    ['none of a side event, a request or an end', [side, { kind: 'turn.requested' }, ended], []],
    ['none of an end', [started, token, ended], []],
    ['one that content opened after an end', [started, ended, token], ['t']],
    ['none that a side event followed', [started, ended, side], []],
    ['one that the wire named later', [started, of('1', token)], ['t 1']],
    ['one that the wire named later, in any event', [started, of('1', side)], ['t 1']],
    ['none of a named end of one without a name', [started, of('1', ended)], []],
    ['the newer of two', [of('1', started), of('2', started)], ['t 2']],
    ['the newer of two, whatever the older one says', [of('1', started), of('2', started), of('1', ended)], ['t 2']],
    ['none that is named by what came late', [of('1', started), of('1', ended), of('1', token)], []],
    ['none that was named and ended without its name', [of('1', started), ended, of('1', token)], []],
    [
      'one in each thread',
      [
        ['a', started],
        ['b', of('1', started)],
        ['c', started],
        ['a', ended],
      ],
      ['b 1', 'c'],
    ],
  ] as [string, (TurnEvent | [string, TurnEvent])[], string[]][])('are %s', (_, events, expected) => {
    expect(openAfter(...events)).toEqual(expected)
  })
})
