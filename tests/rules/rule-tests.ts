/**
 * The files under rules/tests as what they are: promtool's input, where the comment before each test says what it shows,
 * because promtool 2.42 knows no names. `# fires, own labels: after 1m and no sooner` names two kinds.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const RULES = fileURLToPath(new URL('../../rules/', import.meta.url))
export const RULE_TESTS = `${RULES}tests/`

export const KINDS = [
  'fires',
  'does not fire',
  'resolves',
  'vanishing series',
  'counter reset',
  'server death',
  'deleted pod',
  'stopped push',
  'own labels',
] as const
export type Kind = (typeof KINDS)[number]

export interface RuleTestFile {
  readonly file: string
  /** The alert that it is for; undefined for the recording rules. */
  readonly alert?: string
  readonly text: string
  /** Of its tests, in their order. */
  readonly comments: readonly string[]
}

export function ruleTestFiles(): RuleTestFile[] {
  return readdirSync(RULE_TESTS)
    .filter((file) => file.endsWith('.test.yaml'))
    .map((file) => {
      const text = readFileSync(RULE_TESTS + file, 'utf8')
      const [, alert] = /^([A-Z]\w+)\.test\.yaml$/.exec(file) ?? []
      return { file, text, comments: commentsOf(text), ...(alert ? { alert } : {}) }
    })
}

/** What the tests of a file show. Throws for a comment that names a kind there is not. */
export function kindsOf({ file, comments }: RuleTestFile): Kind[] {
  return comments.flatMap((comment) => {
    const [, names] = /^([a-z ,]+): /.exec(comment) ?? []
    return (names?.split(', ') ?? ['']).map((name) => {
      const kind = KINDS.find((one) => one === name)
      if (kind === undefined) throw new Error(`${file}: "${comment}" begins with none of ${KINDS.join(', ')}`)
      return kind
    })
  })
}

/** The comment above each test; empty where there is none. */
function commentsOf(text: string): string[] {
  return [...text.matchAll(/^(?: {2}# (.*)\n)?(?: {2}#.*\n)* {2}- interval:/gm)].map(([, comment]) => comment ?? '')
}
