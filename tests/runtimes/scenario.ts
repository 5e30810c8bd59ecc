/** All that is run in every runtime: what it finds is the same in each. It needs nothing but what the web has. */

import { type StreamFailedError, StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import * as endings from './endings.ts'
import { aBlockedLoop } from './held-up.ts'
import * as responses from './responses.ts'
import * as silences from './silences.ts'
import { readAll, served } from './small-streams.ts'
import * as turns from './turns.ts'

/** The error classes of another copy of the package. */
export interface Copy {
  readonly StreamStalledError: typeof StreamStalledError
  readonly StreamFailedError: typeof StreamFailedError
}

/** What each part found, by its name. */
export async function scenario(copy: Copy): Promise<Record<string, unknown>> {
  const parts = { ...silences, ...endings, ...responses, ...turns, twoCopies: () => twoCopies(copy) }
  const found = await Promise.all(Object.entries(parts).map(async ([name, part]) => [name, await outcome(part)]))
  return { ...Object.fromEntries(found), aBlockedLoop: await outcome(aBlockedLoop) }
}

const GIVEN_UP_MS = 20_000

function outcome(part: () => Promise<object>): Promise<unknown> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('never came'), GIVEN_UP_MS)
    part()
      .catch((error: unknown) => `threw ${error}`)
      .then((found) => {
        clearTimeout(timer)
        resolve(found)
      })
  })
}

async function twoCopies(copy: Copy) {
  const { end } = await readAll(watchStream(served([], 'hangs').stream, { firstContentMs: 60 }))
  return {
    areTwo: copy.StreamStalledError !== StreamStalledError,
    isOurs: end instanceof StreamStalledError,
    isTheirs: end instanceof copy.StreamStalledError,
    isTheirOther: end instanceof copy.StreamFailedError,
    isAnyError: new Error('stream stalled') instanceof copy.StreamStalledError,
  }
}
