/** An async iterable under its deadlines: the same object to its consumer. */

import { type StepObserver, WatchedObject } from '../../instrumentation/taps/watched-object.ts'
import { giveUp } from './give-up.ts'
import { StreamGuard } from './stream-guard.ts'
import { remember } from './watched-streams.ts'

/** `guard` is that of the first iteration; others have one of their own. */
export function guardIterable<T extends AsyncIterable<unknown>>(iterable: T, guard: StreamGuard): T {
  const object = new WatchedObject(
    iterable,
    (isAgain) => new GuardedSteps(iterable, isAgain ? new StreamGuard(guard.options, true) : guard),
  )
  return remember(object.proxy as T, { guard, open: () => object.open() })
}

/** One iteration, every step of which its guard has. */
class GuardedSteps implements StepObserver {
  readonly hearsLeaving = true
  readonly #guard: StreamGuard
  #iterator: object | null = null

  constructor(iterable: object, guard: StreamGuard) {
    this.#guard = guard
    guard.releases((reason) => giveUp(iterable, reason))
    guard.releases(() => (this.#iterator as Partial<AsyncIterator<unknown>> | null)?.return?.())
  }

  get over(): boolean {
    return this.#guard.over
  }

  step(call: () => unknown, by: 'next' | 'throw', iterator: object): unknown {
    this.#iterator = iterator
    if (by === 'next') return this.#guard.step(call)
    this.#guard.cancelled()
    return call()
  }

  returned(call: () => unknown): unknown {
    // A generator would return only after the read that it waits for.
    if (this.#guard.reading || this.#guard.givenUp) {
      this.#guard.abandoned()
      return Promise.resolve({ done: true, value: undefined })
    }
    this.#guard.cancelled()
    return call()
  }

  stopped(): void {
    this.#guard.cancelled()
  }

  interrupted(): void {}
}
