/** A message that says it is a test, and one try to deliver it. */

import { type Channel, DeliveryFailed } from '../../notifier/channel.ts'
import type { Message } from '../../notifier/message.ts'

/** What became of it. */
export interface TestResult {
  readonly channel: string
  readonly delivered: boolean
  /** Why it was not, without a URL; null when it was. */
  readonly failure: string | null
  readonly ms: number
}

const SILENCE_MS = 113_000
const THRESHOLD_MS = 90_000

/** Complete, so that a receiver takes the way that it takes for a stale turn. Its key is unique. */
export function testMessage(nowMs: number): Message {
  return {
    verdict: 'stale',
    key: `test/${crypto.randomUUID()}`,
    thread: 'turnwatch-test',
    turn: 'test',
    parent: null,
    provider: 'turnwatch',
    model: null,
    reason: 'silence',
    phase: 'mid-stream',
    lastEventAt: new Date(nowMs - SILENCE_MS).toISOString(),
    lastEventKind: 'text',
    silenceMs: SILENCE_MS,
    thresholdMs: THRESHOLD_MS,
    thresholdSource: 'default',
    text: 'This is a test of turnwatch notify: no turn is stale, and there is nothing to do.',
  }
}

/** One try, without another whatever comes of it. */
export async function sendTest(channel: Channel, message: Message, timeoutMs: number): Promise<TestResult> {
  const started = performance.now()
  const result = (failure: string | null): TestResult => ({
    channel: channel.name,
    delivered: failure === null,
    failure,
    ms: Math.round(performance.now() - started),
  })
  try {
    await channel.deliver(message, {
      key: message.key,
      attempt: 1,
      rejections: 0,
      since: new Date().toISOString(),
      endedAt: null,
      signal: AbortSignal.timeout(timeoutMs),
    })
    return result(null)
  } catch (error) {
    return result(error instanceof DeliveryFailed ? error.message : 'failed')
  }
}
