/** Columns of numbers, one place a row. */

type Column = Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>

/** The same column with room for more rows. */
export function wider<T extends Column>(column: T, length: number): T {
  const wide = new (column.constructor as new (length: number) => T)(length)
  wide.set(column)
  return wide
}
