/**
 * Errors that `instanceof` knows across realms and copies of this package: by a mark that all of them share, because two
 * of a class that was loaded twice have two prototypes.
 */

type ErrorClass = (new (...args: never[]) => Error) & { readonly prototype: Error }

/** Marks a class by a name. One that extends it has instances of its own, in the ordinary way. */
export function brand(of: ErrorClass, name: string): void {
  const mark = Symbol.for(`turnwatch.${name}`)
  Object.defineProperty(of.prototype, mark, { value: true })
  Object.defineProperty(of, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== of) return Function.prototype[Symbol.hasInstance].call(this as () => void, value)
      return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[mark] === true
    },
  })
}
