/** Grafana's grid: 24 columns, rows of 30 px, 8 px between two panels. */

import type { GridPos } from './dashboard.ts'

const COLUMNS = 24
const ROW_HEIGHT = 30
const MARGIN = 8

/** Px from the grid's top left corner. */
export interface Box {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

export function boxOf({ x, y, w, h }: GridPos, gridWidth: number): Box {
  const column = (gridWidth - MARGIN * (COLUMNS - 1)) / COLUMNS
  return {
    left: Math.round(x * (column + MARGIN)),
    top: y * (ROW_HEIGHT + MARGIN),
    width: Math.round(w * column + (w - 1) * MARGIN),
    height: h * ROW_HEIGHT + (h - 1) * MARGIN,
  }
}
