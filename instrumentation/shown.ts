/** A value as an error shows it, in short. */

export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    const name = Object.prototype.toString.call(value).slice(8, -1)
    return name === 'Object' ? 'an object' : name
  }
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'bigint') return `${value}n`
  return (typeof value === 'string' ? JSON.stringify(value) : String(value)).slice(0, 80)
}
