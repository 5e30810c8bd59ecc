/** What the provider does in these tests. */

import { call, cut, hang, pause, refuse, type Scene, say, think } from './provider/scene.ts'

/** Longer than a silence that is stale under the tests' limits. */
export const LONG_MS = 12_000
/** Shorter than one that is suspect. */
const SHORT_MS = 3500

const done = [say('Done ', 'now.')] as const

export const answer: Scene = [[think('Let me ', 'think.'), say('Hello ', 'there, ', 'friend.')]]
export const tool: Scene = [[say('I will ', 'look.'), call('echo found')], done]
/** What a careful agent asks for first. */
export const harmful: Scene = [[say('I will ', 'remove it.'), call('rm -f nothing')], done]
export const longTool: Scene = [
  [say('I will ', 'wait.'), call(`'${process.execPath}' -e 'setTimeout(() => {}, ${LONG_MS})'`)],
  done,
]
/** In its second answer: what an agent shows first, it may show late. */
export const shortPause: Scene = [
  [say('I will ', 'look.'), call('echo found')],
  [think('Let me ', 'think.'), say('Hello '), pause(SHORT_MS), say('there.')],
]
/** The arguments take as long as a long tool, in pieces. */
export const slowArguments: Scene = [
  [say('I will ', 'write.'), call('echo found; echo and a lot more', { pieces: 6, everyMs: 1500 })],
  done,
]

/** After a tool, so that every wire has shown something of the model. */
export const dead: Scene = [
  [say('I will ', 'look.'), call('echo found')],
  [say('Hello ', 'there.'), hang()],
]
export const onlyKeepAlives: Scene = [
  [say('I will ', 'look.'), call('echo found')],
  [say('Hello ', 'there.'), hang(500)],
]
export const neverBegins: Scene = [[hang(500)]]

export const badRequest: Scene = [[refuse(400)]]
export const overloadedTwice: Scene = [[refuse(529)], [refuse(529)], done]
/** After a tool; the agent is told to come back only after that many seconds. */
export const overloadedFor = (seconds: number): Scene => [
  [say('I will ', 'look.'), call('echo found')],
  [refuse(529, seconds)],
  done,
]
/** Its second answer. */
export const cutOnce: Scene = [[say('I will ', 'look.'), call('echo found')], [say('Hello '), cut], done]
export const cutAlways: Scene = [[think('Let me ', 'think.'), say('Hello '), cut]]
