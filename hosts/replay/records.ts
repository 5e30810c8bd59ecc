/** Files of stored turn statistics: a JSON array, or one record a line. */

import { BadInput } from '../../bad-input.ts'
import { jsonLineAt } from './json-lines.ts'
import { readText } from './replay.ts'

/** Throws BadInput with file and line. */
export function readRecords(file: string): unknown[] {
  return parseRecords(file, readText(file))
}

/** The same of a file that has been read. */
export function parseRecords(file: string, text: string): unknown[] {
  if (text.trim() === '') throw new BadInput(`${file}:1: empty`)
  if (text.trimStart().startsWith('[')) {
    try {
      return JSON.parse(text) as unknown[]
    } catch (error) {
      throw new BadInput(`${file}:${jsonLineAt(text, error)}: not JSON`)
    }
  }
  return text.split('\n').flatMap((row, index) => {
    if (row.trim() === '') return []
    try {
      return [JSON.parse(row) as unknown]
    } catch {
      throw new BadInput(`${file}:${index + 1}: not JSON: ${JSON.stringify(row.trim().slice(0, 60))}`)
    }
  })
}
