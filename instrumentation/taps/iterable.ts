/** Watches an async iterable: the same object to its consumer, with every step seen. */

import type { Watcher } from '../sources/source.ts'
import { type StopSignals, signalsOf } from './own-stop.ts'
import { isReadableStream, watchReadable } from './readable-stream.ts'
import { shown, Tap, type TapOptions } from './tap.ts'

type Method = (...args: unknown[]) => unknown

/**
 * Watches the messages of an async iterable, such as `query()` of the Claude Agent SDK, a `Stream` of the OpenAI or
 * Anthropic SDK, `fullStream` of the AI SDK, or any generator. Text and bytes of server-sent events or NDJSON are decoded
 * on the side. Use what it returns in place of what it was given: the same messages in the same order, one `next()` of
 * the inner for one of the outer, nothing asked for ahead; all methods and fields work, run on the original, and
 * `instanceof` holds. A ReadableStream is watched as `watchReadable` does.
 *
 * With `thread`, a bare API's turn begins at the first `next()`, and ends one of an older stream in that thread; in further
 * iterations, with its first event. An end without the turn's own is an exit, but for objects of a wire whose failures are
 * events, and for a stream that told nothing; `return()`, `throw()`, `using`, methods that stop a stream, and abort errors
 * end the turn `aborted`; any other rejection is the provider's error. While the consumer asks for nothing for a second or
 * two, the turn waits (`queue`).
 *
 * Watched as well are `tee()` and `toReadableStream()` of the OpenAI and Anthropic SDKs. What an object offers beside its
 * iterator, such as the `data` events of a Node stream, passes unseen.
 *
 * Throws TypeError for a source that is none, and for what is no async iterable.
 */
export function watchIterable<T extends AsyncIterable<unknown>>(iterable: T, watch: Watcher, options: TapOptions): T {
  if (isReadableStream(iterable)) return watchReadable(iterable, watch, options) as AsyncIterable<unknown> as T
  if (typeof iterable !== 'object' || iterable === null || typeof iterable[Symbol.asyncIterator] !== 'function') {
    throw new TypeError(`iterable: ${shown(iterable)} is no async iterable: an object with [Symbol.asyncIterator]`)
  }
  const signals = (): StopSignals => signalsOf(iterable)
  return new WatchedObject(iterable, (isAgain) => new Tap(watch, options, { signals, isAgain })).proxy as T
}

/** Whether what a method gave is a promise, or stands in for one. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** What `using` and its stacks call, which take no proxy for a function. */
const DISPOSALS: ReadonlySet<PropertyKey> = new Set([Symbol.asyncDispose, Symbol.dispose])

function disposal(apply: (self: unknown, args: unknown[]) => unknown): Method {
  return function (this: unknown, ...args) {
    return apply(this, args)
  }
}

/** An iterable, and all iterators that it gives. Each of them is a stream of its own, unless the iterable is one itself. */
class WatchedObject {
  readonly proxy: object
  readonly #newTap: (isAgain: boolean) => Tap
  /** Made at once, because it refuses bad options; taken by the first iterator. */
  #spare: Tap | null
  readonly #taps = new Set<Tap>()
  readonly #iterators = new WeakMap<object, object>()

  constructor(iterable: object, newTap: (isAgain: boolean) => Tap) {
    this.#newTap = newTap
    this.#spare = newTap(false)
    const isIterator = typeof (iterable as { next?: unknown }).next === 'function'
    this.proxy = this.#proxyOf(iterable, isIterator ? new Steps(this.#tap()) : null)
  }

  #tap(): Tap {
    const tap = this.#spare ?? this.#newTap(true)
    this.#spare = null
    for (const old of this.#taps) if (old.over) this.#taps.delete(old)
    this.#taps.add(tap)
    return tap
  }

  /** An iterator that the iterable gave; `steps` is that of an iterable which is one itself. */
  #iterator(given: unknown, steps: Steps | null): unknown {
    if (typeof given !== 'object' || given === null) return given
    const known = this.#iterators.get(given)
    if (known !== undefined) return known
    const proxy = this.#proxyOf(given, steps ?? new Steps(this.#tap()))
    this.#iterators.set(given, proxy)
    return proxy
  }

  #proxyOf(target: object, steps: Steps | null): object {
    const wrapped = new Map<PropertyKey, { method: Method; wrapper: Method }>()
    const wrap = (key: PropertyKey, method: Method): Method => {
      const known = wrapped.get(key)
      if (known?.method === method) return known.wrapper
      const apply = (self: unknown, args: unknown[]): unknown => {
        if (self !== proxy) return Reflect.apply(method, self, args)
        const result = this.#call(key, () => Reflect.apply(method, target, args), target, steps)
        return result === target ? proxy : result
      }
      const wrapper = DISPOSALS.has(key)
        ? disposal(apply)
        : new Proxy(method, { apply: (_, ...call) => apply(...call) })
      wrapped.set(key, { method, wrapper })
      return wrapper
    }
    const proxy: object = new Proxy(standIn(target, wrap), {
      get: (_, key) => {
        // Private fields are known by the object itself, so everything runs on that.
        const value: unknown = Reflect.get(target, key, target)
        return typeof value !== 'function' || key === 'constructor' ? value : wrap(key, value as Method)
      },
      set: (_, key, value) => Reflect.set(target, key, value, target),
      has: (_, key) => Reflect.has(target, key),
    })
    return proxy
  }

  #call(key: PropertyKey, call: () => unknown, target: object, steps: Steps | null): unknown {
    switch (key) {
      case Symbol.asyncIterator: {
        const given = call()
        return given === target ? given : this.#iterator(given, steps)
      }
      case 'next':
      case 'throw':
        return steps === null ? call() : steps.step(call, key)
      case 'return':
        steps?.tap.cancelled()
        return call()
      case Symbol.asyncDispose:
      case Symbol.dispose:
      case 'abort':
      case 'cancel':
      case 'close':
      case 'destroy':
        for (const tap of this.#taps) tap.cancelled()
        return call()
      case 'interrupt':
        for (const tap of this.#taps) tap.interrupted()
        return call()
      case 'tee':
        // Both branches read one iterator, which the stream makes while it is called.
        return this.#replacing(target, 'iterator', call)
      case 'toReadableStream':
        return this.#replacing(target, Symbol.asyncIterator, call)
      default:
        return call()
    }
  }

  /** Calls while the method of that name gives iterators that are watched. */
  #replacing(target: object, key: 'iterator' | typeof Symbol.asyncIterator, call: () => unknown): unknown {
    const method: unknown = Reflect.get(target, key, target)
    const own = Reflect.getOwnPropertyDescriptor(target, key)
    if (typeof method !== 'function') return call()
    const watched = (...args: unknown[]) => this.#iterator(Reflect.apply(method, target, args), null)
    if (!Reflect.defineProperty(target, key, { value: watched, configurable: true, writable: true })) return call()
    try {
      return call()
    } finally {
      if (own === undefined) Reflect.deleteProperty(target, key)
      else Reflect.defineProperty(target, key, own)
    }
  }
}

/** The steps of one iterator. */
class Steps {
  readonly tap: Tap
  #pending = 0

  constructor(tap: Tap) {
    this.tap = tap
  }

  /**
   * Asks the inner iterator for its next, by `next()` or `throw()`. The consumer gets what that gives: the same result or
   * the same error.
   */
  step(call: () => unknown, by: 'next' | 'throw'): unknown {
    this.tap.asks()
    this.#pending++
    const rejected = (error: unknown): never => {
      this.#pending--
      // What a consumer throws in comes out again.
      if (by === 'throw') this.tap.cancelled()
      else this.tap.failed(error)
      throw error
    }
    let result: unknown
    try {
      result = call()
    } catch (error) {
      return rejected(error)
    }
    const took = (step: unknown) => this.#took(step, by)
    return isThenable(result) ? Promise.resolve(result).then(took, rejected) : took(result)
  }

  #took(step: unknown, by: 'next' | 'throw'): unknown {
    this.#pending--
    this.tap.stepped(step, by === 'throw')
    if (this.#pending === 0) this.tap.holds()
    return step
  }
}

/**
 * What a proxy of the object stands on. A proxy may not show another value for a field that can never change, so a frozen
 * object is copied with its methods as the proxy shows them; one with such methods that is not frozen is inherited from.
 */
function standIn(target: object, wrap: (key: PropertyKey, method: Method) => Method): object {
  const own = Object.getOwnPropertyDescriptors(target) as Record<PropertyKey, PropertyDescriptor>
  const fixed = Reflect.ownKeys(own).filter((key) => isFixedMethod(key, own[key]))
  if (fixed.length === 0) return target
  if (!Object.isFrozen(target)) return Object.create(target)
  for (const key of fixed) own[key] = { ...own[key], value: wrap(key, own[key]?.value) }
  return Object.freeze(Object.create(Object.getPrototypeOf(target), own))
}

function isFixedMethod(key: PropertyKey, own: PropertyDescriptor | undefined): boolean {
  return (
    own?.configurable === false && own.writable === false && typeof own.value === 'function' && key !== 'constructor'
  )
}
