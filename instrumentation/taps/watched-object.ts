/**
 * An object that can be iterated, as its consumer holds it: a proxy on which everything works as on the object itself,
 * while an observer sees each step of each of its iterators, and the calls that stop it.
 */

type Method = (...args: unknown[]) => unknown

/** Sees one iterator. What its methods return is what the consumer gets. */
export interface StepObserver {
  /** Whether there is nothing more to see. */
  readonly over: boolean
  /** Whether it has to hear of a consumer that leaves an iterator which has no `return()`: then that is given one. */
  readonly hearsLeaving?: boolean
  /** The consumer asks for the next; `call` asks the inner `iterator`. */
  step(call: () => unknown, iterator: object): unknown
  /** The consumer calls `throw(error)`. */
  threw(call: () => unknown, error: unknown): unknown
  /** The consumer calls `return()`. */
  returned(call: () => unknown): unknown
  /** The consumer calls what stops the whole object, such as `abort()`. */
  stopped(): void
  /** The consumer disposes of the object. Returns whether it has not to wait for what the object does about it. */
  disposed(): boolean
  /** The consumer asks it to stop, and goes on reading. */
  interrupted(): void
}

/** What `using` and its stacks call, which take no proxy for a function. */
const DISPOSALS: ReadonlySet<PropertyKey> = new Set([Symbol.asyncDispose, Symbol.dispose])

function disposal(apply: (self: unknown, args: unknown[]) => unknown): Method {
  return function (this: unknown, ...args) {
    return apply(this, args)
  }
}

/** An iterable, and all iterators that it gives. Each of them is a stream of its own, unless the iterable is one itself. */
export class WatchedObject {
  readonly proxy: object
  readonly #iterable: object
  readonly #newObserver: (isAgain: boolean) => StepObserver
  /** Made at once, because it refuses bad options; taken by the first iterator. */
  #spare: StepObserver | null
  readonly #observers = new Set<StepObserver>()
  readonly #iterators = new WeakMap<object, object>()
  /** The iterator that was made before its consumer asked for it. */
  #ahead: unknown = null

  constructor(iterable: object, newObserver: (isAgain: boolean) => StepObserver) {
    this.#iterable = iterable
    this.#newObserver = newObserver
    this.#spare = newObserver(false)
    this.proxy = this.#proxyOf(iterable, isIterator(iterable) ? this.#observer() : null)
  }

  /** Opens the iterator that the consumer will get first, and returns what asks it for its next, unobserved. */
  open(): () => unknown {
    let given: object = this.#iterable
    if (!isIterator(given)) {
      given = (this.#iterable as AsyncIterable<unknown>)[Symbol.asyncIterator]()
      this.#ahead = this.#iterator(given, null)
    }
    return () => (given as AsyncIterator<unknown>).next()
  }

  #observer(): StepObserver {
    const observer = this.#spare ?? this.#newObserver(true)
    this.#spare = null
    for (const old of this.#observers) if (old.over) this.#observers.delete(old)
    this.#observers.add(observer)
    return observer
  }

  /** An iterator that the iterable gave; `observer` is that of an iterable which is one itself. */
  #iterator(given: unknown, observer: StepObserver | null): unknown {
    if (typeof given !== 'object' || given === null) return given
    const known = this.#iterators.get(given)
    if (known !== undefined) return known
    const proxy = this.#proxyOf(given, observer ?? this.#observer())
    this.#iterators.set(given, proxy)
    return proxy
  }

  #proxyOf(target: object, observer: StepObserver | null): object {
    const wrapped = new Map<PropertyKey, { method: Method; wrapper: Method }>()
    const wrap = (key: PropertyKey, method: Method): Method => {
      const known = wrapped.get(key)
      if (known?.method === method) return known.wrapper
      const apply = (self: unknown, args: unknown[]): unknown => {
        if (self !== proxy) return Reflect.apply(method, self, args)
        const result = this.#call(key, args, () => Reflect.apply(method, target, args), target, observer)
        return result === target ? proxy : result
      }
      const wrapper = DISPOSALS.has(key)
        ? disposal(apply)
        : new Proxy(method, { apply: (_, ...call) => apply(...call) })
      wrapped.set(key, { method, wrapper })
      return wrapper
    }
    const leave = () => observer?.returned(() => Promise.resolve({ done: true, value: undefined }))
    const proxy: object = new Proxy(standIn(target, wrap), {
      get: (_, key) => {
        // Private fields are known by the object itself, so everything runs on that.
        const value: unknown = Reflect.get(target, key, target)
        if (key === 'return' && value === undefined && observer?.hearsLeaving) return leave
        return typeof value !== 'function' || key === 'constructor' ? value : wrap(key, value as Method)
      },
      set: (_, key, value) => Reflect.set(target, key, value, target),
      has: (_, key) => Reflect.has(target, key),
    })
    return proxy
  }

  #call(
    key: PropertyKey,
    args: unknown[],
    call: () => unknown,
    target: object,
    observer: StepObserver | null,
  ): unknown {
    switch (key) {
      case Symbol.asyncIterator: {
        const ahead = this.#ahead
        this.#ahead = null
        if (ahead !== null && target === this.#iterable) return ahead
        const given = call()
        return given === target ? given : this.#iterator(given, observer)
      }
      case 'next':
        return observer === null ? call() : observer.step(call, target)
      case 'throw':
        return observer === null ? call() : observer.threw(call, args[0])
      case 'return':
        return observer === null ? call() : observer.returned(call)
      case Symbol.asyncDispose:
      case Symbol.dispose: {
        // All of them are told.
        const over = [...this.#observers].filter((one) => one.disposed()).length > 0
        if (!over) return call()
        Promise.resolve(call()).catch(() => {})
        return key === Symbol.asyncDispose ? Promise.resolve() : undefined
      }
      case 'abort':
      case 'cancel':
      case 'close':
      case 'destroy':
        for (const one of this.#observers) one.stopped()
        return call()
      case 'interrupt':
        for (const one of this.#observers) one.interrupted()
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

function isIterator(value: object): value is AsyncIterator<unknown> {
  return typeof (value as { next?: unknown }).next === 'function'
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
