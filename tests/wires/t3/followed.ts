/** What a reader of the documentation does: writes its blocks where they say, in a copy of a server. */

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A block of a document that is headed by the path of the file it is for. */
export interface Block {
  /** The second-level heading it stands under. */
  readonly section: string
  readonly path: string
  readonly text: string
  /** Whether its lines have signs, or are a whole file. */
  readonly isEdit: boolean
}

/** The blocks of a document, in order. A block right after another one is for the same file. */
export function blocksOf(document: string): Block[] {
  const blocks: Block[] = []
  for (const part of document.split(/^## /m)) {
    const section = part.slice(0, part.indexOf('\n'))
    let path: string | undefined
    for (const [, heading, language, text, prose] of part.matchAll(
      /^`([^`\n]+)`\n|^```(\w*)\n([\s\S]*?\n)```\n|^(\S.*)\n/gm,
    )) {
      if (heading !== undefined) path = heading
      else if (prose !== undefined) path = undefined
      else if (path !== undefined && text !== undefined) {
        blocks.push({ section, path, text, isEdit: language === 'diff' })
      }
    }
  }
  return blocks
}

/** Writes a block into the folder. Throws where an edit does not fit, or fits at several places. */
export function follow({ path, text, isEdit }: Block, folder: string): void {
  const file = join(folder, path)
  if (!isEdit) {
    if (existsSync(file)) throw new Error(`${path}: is there already`)
    mkdirSync(dirname(file), { recursive: true })
    return writeFileSync(file, text)
  }
  const lines = text.split('\n').slice(0, -1)
  const sided = (signs: string) =>
    lines.filter((line) => signs.includes(line.charAt(0))).map((line) => `${line.slice(1)}\n`)
  const [before, after] = [sided(' -').join(''), sided(' +').join('')]
  if (before === '') return appendFileSync(file, after)
  // Whole lines only.
  const parts = `\n${readFileSync(file, 'utf8')}`.split(`\n${before}`)
  if (parts.length !== 2) throw new Error(`${path}: these lines are there ${parts.length - 1} times:\n${before}`)
  writeFileSync(file, parts.join(`\n${after}`).slice(1))
}
