/** A runbook as its parts: what a test can check of it. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './example-prometheus.ts'

const FOLDER = join(root, 'rules/runbooks')

interface RunbookPage {
  readonly name: string
  readonly text: string
  readonly title: string
  /** The first paragraph. */
  readonly lead: string
  readonly sections: readonly string[]
  /** Expressions of its promql blocks. */
  readonly queries: readonly string[]
  /** Every command line, of its sh blocks and within the text. */
  readonly commands: readonly string[]
  /** Addresses of its links. */
  readonly links: readonly string[]
}

export const RUNBOOKS = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.md'))
  .map((file) => runbookPage(file.slice(0, -'.md'.length)))

function runbookPage(name: string): RunbookPage {
  const text = readFileSync(join(FOLDER, `${name}.md`), 'utf8')
  const prose = text.replace(/^```[\s\S]*?^```/gm, '')
  return {
    name,
    text,
    title: /^# (.*)$/m.exec(text)?.[1] ?? '',
    lead: prose.split('\n\n')[1]?.trim() ?? '',
    sections: [...prose.matchAll(/^## (.*)$/gm)].map(([, title]) => title as string),
    queries: blocks(text, 'promql'),
    commands: [
      ...blocks(text, 'sh').flatMap((block) => block.split('\n')),
      ...[...prose.matchAll(/`((?:turnwatch|promtool|amtool|curl) [^`]*)`/g)].map(([, command]) => command as string),
    ],
    links: [...prose.matchAll(/\]\(([^)]*)\)/g)].map(([, link]) => link as string),
  }
}

/** Contents of the blocks of a language. */
export function blocks(text: string, language: string): string[] {
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\`$`, 'gm'))
  return [...found].map(([, content]) => content as string)
}
