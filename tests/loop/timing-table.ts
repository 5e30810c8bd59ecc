/** How long the alerts of a play took, as a table. */

import type { Timing } from './scene.ts'

const HEAD = ['scene', 'alert', 'notifier', 'Prometheus', 'Alertmanager']

/** Seconds from when what the alert is about began. */
export function timingTable(timings: readonly Timing[]): string {
  const rows = timings.map(({ scene, alert, since, notifiedAt, firedAt, toldAt }) => [
    scene,
    alert,
    ...[notifiedAt, firedAt, toldAt].map((at) => (at === null ? '' : ((at - since) / 1000).toFixed(1))),
  ])
  const widths = HEAD.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')
  return [line(HEAD), ...rows.map(line)].join('\n')
}
