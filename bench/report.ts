/** What a benchmark says: figures beside their budgets and peers, as a table. Budgets are reported, not asserted. */

export interface Figure {
  readonly what: string
  readonly measured: string
  readonly budget?: string
  /** How it compares with its peer in the same run. */
  readonly peer?: string
  /** Null where there is no budget. */
  readonly ok: boolean | null
}

/** Prints the figures of a benchmark that was run alone. */
export function printFigures(figures: readonly Figure[]): void {
  printTable(
    ['what', 'budget', 'measured', 'beside its peer', ''],
    figures.map(({ what, budget = '', measured, peer = '', ok }) => [
      what,
      budget,
      measured,
      peer,
      ok === null ? '' : ok ? 'ok' : 'over',
    ]),
  )
}

/** Prints rows under a header, columns aligned, the first to the left. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) => cells.map((cell, i) => cell.padEnd(widths[i] as number)).join('  ')
  for (const row of [header, widths.map((width) => '-'.repeat(width)), ...rows]) console.log(line(row).trimEnd())
  console.log()
}

export function heading(text: string): void {
  console.log(`\n${text}\n`)
}

/** `12x` when `ours` is a twelfth of `theirs`, `0.50x` when it is twice as much. */
export function times(theirs: number, ours: number): string {
  const ratio = theirs / ours
  return `${ratio >= 10 ? ratio.toFixed(0) : ratio.toPrecision(2)}x`
}
