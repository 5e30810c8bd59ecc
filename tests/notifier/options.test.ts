import { describe, expect, it } from 'vitest'
import { createTurnwatch } from '../../turnwatch.ts'

const deliver = () => {}

describe('options of the notifier that cannot be used are refused, with what is allowed', () => {
  it.each<[unknown, string]>([
    ['https://u:s3cret@host/s3cret', 'notify: a URL is neither a function, a channel, nor an object with channels'],
    [5, 'notify: 5 is neither a function, a channel, nor an object with channels'],
    [null, 'notify: null is neither a function, a channel, nor an object with channels'],
    [{ channels: deliver }, 'notify: an object is neither a function, a channel, nor an object with channels'],
    [{ channels: ['mail'] }, 'notify.channels[0]: "mail" is neither a function nor a channel'],
    [{ channels: [], recoverd: true }, 'notify.recoverd: is no option; there are channels, per, recovered, whenOver'],
    [{ channels: [], recovered: 'no' }, 'notify.recovered: "no" is none of true, false'],
    [{ channels: [], per: 'day' }, 'notify.per: "day" is none of episode, turn'],
    [{ channels: [], whenOver: 1n }, 'notify.whenOver: 1 is none of withdraw, say'],
    [{ channels: [], leaseMs: 1 }, 'notify.leaseMs: 1 is not a number of ms from 100 to 2592000000'],
    [{ channels: [], closeMs: Number.POSITIVE_INFINITY }, 'notify.closeMs: Infinity is not a number of ms from 0'],
    [{ channels: [], groupMs: -1 }, 'notify.groupMs: -1 is not a number of ms from 0 to 2592000000'],
    [{ channels: [], keepMs: '7d' }, 'notify.keepMs: "7d" is not a number of ms from 1000 to Infinity'],
    [{ channels: [], text: 'hello' }, 'notify.text: "hello" is not a function'],
    [{ channels: [], isManagedElsewhere: true }, 'notify.isManagedElsewhere: true is not a function'],
    [{ channels: [{ name: 'https://h/s3cret', deliver }] }, 'name: is not 1 to 100 characters without control'],
    [{ channels: [{ name: 'a\n', deliver }] }, 'name: is not 1 to 100 characters without control characters'],
    [{ channels: [{ name: ' ', deliver }] }, 'name: is not 1 to 100 characters'],
    [{ channels: [{ name: 'a', deliver, concurrency: 0 }] }, 'a.concurrency: 0 is not a whole number from 1 on'],
    [{ channels: [{ name: 'a', deliver, timeoutMs: Number.NaN }] }, 'a.timeoutMs: NaN is not a number of ms from 1 on'],
    [{ channels: [{ name: 'a', deliver, needsParent: 'no' }] }, 'a.needsParent: "no" is not true or false'],
    [{ channels: [{ name: 'a', deliver, target: {} }] }, 'a.target: an object is not a string'],
    [{ channels: [{ name: 'a', deliver, close: 5 }] }, 'a.close: 5 is not a function'],
    [
      { channels: [deliver, { name: 'callback', deliver }] },
      'notify.channels: two are named "callback"; give one another',
    ],
    [
      { channels: ['a', 'b'].map((name) => ({ name, target: 'same', deliver })) },
      'notify.channels: "a" and "b" have the same receiver',
    ],
  ])('%o', (notify, message) => {
    expect(() => createTurnwatch({ notify: notify as never })).toThrow(message)
    try {
      createTurnwatch({ notify: notify as never })
    } catch (error) {
      expect((error as Error).message).not.toContain('s3cret')
      expect((error as Error).message).not.toContain('\n')
    }
  })
})
