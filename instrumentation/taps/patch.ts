/** Own methods that stand in for those of an object, until they are taken back. */

type Method = (...args: never[]) => unknown

/**
 * Lets `before` see the arguments of each call of a method, and `after` what it gave. The call itself is the object's.
 * Returns what takes it back; where somebody else has put a method on top meanwhile, it only sees nothing any more.
 */
export function see<K extends string, T extends { [P in K]: Method }>(
  object: T,
  name: K,
  { before, after }: { before?: (args: unknown[]) => void; after?: (result: unknown, args: unknown[]) => void },
): () => void {
  const own = Object.getOwnPropertyDescriptor(object, name)
  const method: Method = object[name]
  let seeing = true
  function seen(this: T, ...args: never[]): unknown {
    if (seeing) before?.(args)
    const result = Reflect.apply(method, this, args)
    if (seeing) after?.(result, args)
    return result
  }
  Object.defineProperty(object, name, { value: seen, configurable: true, writable: true })
  return () => {
    seeing = false
    if (Object.getOwnPropertyDescriptor(object, name)?.value !== seen) return
    if (own === undefined) Reflect.deleteProperty(object, name)
    else Object.defineProperty(object, name, own)
  }
}
