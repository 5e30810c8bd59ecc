/** Samples with their times, as the OpenMetrics text that promtool turns into blocks. */

import type { Scrape } from './fleet.ts'

/** The end of a document. */
export const END = '# EOF\n'
const JOB = 'turnwatch'

/** The lines of a scrape, with the labels and the series that Prometheus adds to it. */
export function linesOf({ instance, atMs, text }: Scrape): string {
  const target = `job="${JOB}",instance="${instance}"`
  const time = String(atMs / 1000)
  const lines = [`up{${target}} ${text === null ? 0 : 1} ${time}`]
  for (const line of text?.split('\n') ?? []) {
    if (line === '' || line.startsWith('#')) continue
    // The value stands after the last space, and labels end before it; label values may hold anything.
    const end = line.lastIndexOf(' ')
    const open = line.indexOf('{')
    const name = open === -1 || open > end ? line.slice(0, end) : line.slice(0, open)
    const labels = name.length === end ? '' : line.slice(open + 1, end - 1)
    lines.push(`${name}{${target}${labels === '' ? '' : ','}${labels}} ${line.slice(end + 1)} ${time}`)
  }
  return `${lines.join('\n')}\n`
}

/** One sample of a series. */
export function lineOf(labels: Readonly<Record<string, string>>, value: number, atMs: number): string {
  const { __name__: name, ...others } = labels
  const inside = Object.entries(others).map(([label, text]) => `${label}=${JSON.stringify(text)}`)
  return `${name}{${inside.join(',')}} ${valueText(value)} ${atMs / 1000}\n`
}

function valueText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  return String(value)
}
