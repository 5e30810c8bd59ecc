import { describe, expect, it } from 'vitest'
import { see } from '../../instrumentation/taps/patch.ts'

class Speaker {
  readonly said: string[] = []
  say(text: string): number {
    return this.said.push(text)
  }
}

function seen(speaker: Speaker) {
  const calls: unknown[] = []
  const undo = see(speaker, 'say', {
    before: (args) => calls.push(['before', ...args]),
    after: (result, args) => calls.push(['after', result, ...args]),
  })
  return { calls, undo }
}

describe('a method that is seen', () => {
  it('does what it did, on its object', () => {
    const speaker = new Speaker()
    const { calls } = seen(speaker)
    expect(speaker.say('a')).toBe(1)
    expect(speaker.said).toEqual(['a'])
    expect(calls).toEqual([
      ['before', 'a'],
      ['after', 1, 'a'],
    ])
  })

  it('is its own again afterwards, also where the object had one of its own', () => {
    const plain = new Speaker()
    const own = Object.assign(new Speaker(), { say: () => 7 })
    const { say } = own
    for (const speaker of [plain, own]) seen(speaker).undo()
    expect(Object.hasOwn(plain, 'say')).toBe(false)
    expect(own.say).toBe(say)
  })

  it('stays where somebody else has put one on top, and sees nothing any more', () => {
    const speaker = new Speaker()
    const { calls, undo } = seen(speaker)
    const below = speaker.say
    speaker.say = (text) => below.call(speaker, `${text}!`)
    undo()
    expect(speaker.say('a')).toBe(1)
    expect(speaker.said).toEqual(['a!'])
    expect(calls).toEqual([])
  })
})
