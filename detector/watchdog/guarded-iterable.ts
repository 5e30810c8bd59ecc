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

type Iterator = Partial<AsyncIterator<unknown>>

/** One iteration, every step of which its guard has. */
class GuardedSteps implements StepObserver {
  readonly hearsLeaving = true
  readonly #guard: StreamGuard
  #iterator: object | null = null

  constructor(iterable: object, guard: StreamGuard) {
    this.#guard = guard
    guard.releases((reason) => giveUp(iterable, reason))
    // An iterable that is its own iterator has heard of it.
    guard.releases(() => (this.#iterator === iterable ? undefined : (this.#iterator as Iterator | null)?.return?.()))
  }

  get over(): boolean {
    return this.#guard.over
  }

  step(call: () => unknown, iterator: object): unknown {
    this.#iterator = iterator
    return this.#guard.step(call)
  }

  threw(call: () => unknown, error: unknown): unknown {
    return this.#left() ? Promise.reject(error) : call()
  }

  returned(call: () => unknown): unknown {
    return this.#left() ? Promise.resolve({ done: true, value: undefined }) : call()
  }

  disposed(): boolean {
    return this.#left()
  }

  stopped(): void {
    this.#guard.cancelled()
  }

  interrupted(): void {}

  /** The consumer leaves. Whether without the source: a generator would hear of it only after the read that it waits for. */
  #left(): boolean {
    const waits = this.#guard.reading || this.#guard.givenUp
    if (waits) this.#guard.abandoned()
    else this.#guard.cancelled()
    return waits
  }
}
