/** The code of docs/watchdog.md, by the heading that it stands under, as functions that a test can call. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as watchdog from '../../detector/watchdog/index.ts'
import * as turnwatch from '../../index.ts'
import * as sources from '../../instrumentation/sources/index.ts'

const MODULES: Readonly<Record<string, object>> = {
  turnwatch,
  'turnwatch/sources': sources,
  'turnwatch/watchdog': watchdog,
}

const root = fileURLToPath(new URL('../../', import.meta.url))

export const PAGE = readFileSync(join(root, 'docs', 'watchdog.md'), 'utf8')

/** The one block of each section that has code. Throws for a section with two. */
export const BLOCKS: ReadonlyMap<string, string> = new Map(
  PAGE.split(/^## /m).flatMap((section) => {
    const title = section.slice(0, section.indexOf('\n'))
    const [block, another] = [...section.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code as string)
    if (another !== undefined) throw new Error(`docs/watchdog.md: ${title} has two blocks`)
    return block === undefined ? [] : [[title, block] as const]
  }),
)

/**
 * Runs the block of a section, with what a reader has around it; returns what it declares under these names. `modules` is
 * what it imports in place of what is there.
 */
export async function runBlock(
  section: string,
  around: Readonly<Record<string, unknown>>,
  names: readonly string[] = [],
): Promise<Record<string, unknown>> {
  const block = BLOCKS.get(section)
  if (block === undefined) throw new Error(`docs/watchdog.md has no code under ${section}`)
  const imported: Record<string, unknown> = {}
  const code = block.replace(/^import \{ (.+) \} from '(.+)'$/gm, (_line, list: string, from: string) => {
    for (const name of list.split(', ')) {
      const found = (MODULES[from] as Record<string, unknown> | undefined)?.[name]
      if (found === undefined) throw new Error(`${from} has no ${name}`)
      imported[name] = found
    }
    return ''
  })
  const scope = { ...imported, ...around }
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor
  const run = AsyncFunction(...Object.keys(scope), `${stripTypeScriptTypes(code)}\nreturn { ${names.join(', ')} }`)
  return (await run(...Object.values(scope))) as Record<string, unknown>
}

/** What a reader has around the code. */
const AROUND = `
type Event = { type: string }
type Events = AsyncIterable<Event>
declare const openai: {
  responses: { create(request: object, options?: { signal?: AbortSignal }): Promise<Events> }
}
declare const Anthropic: new (options: { fetch: typeof fetch }) => {
  messages: { create(request: object): Promise<Events> }
}
declare const model: string
declare const file: string
declare const input: unknown
declare const question: unknown
declare const request: object
declare const stream: Events
declare const signal: AbortSignal
declare function use(event: Event): void
declare function log(text: string): void
declare function needsApproval(event: Event): boolean
declare function askSomebody(event: Event): Promise<void>
declare function toolCallsOf(answer: Events): Promise<object[]>
declare function show(answer: Events): Promise<void>
declare function runTools(calls: object[]): Promise<unknown>
`

/** What the compiler says of all blocks: nothing where all is well. They leave parameters without types, as JavaScript. */
export function compileBlocks(): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnwatch-docs-'))
  try {
    for (const [i, block] of [...BLOCKS.values()].entries()) writeFileSync(join(folder, `block${i}.ts`), block)
    writeFileSync(join(folder, 'around.d.ts'), AROUND)
    const paths = {
      turnwatch: [join(root, 'index.ts')],
      'turnwatch/sources': [join(root, 'instrumentation', 'sources', 'index.ts')],
      'turnwatch/watchdog': [join(root, 'detector', 'watchdog', 'index.ts')],
    }
    const compilerOptions = { typeRoots: [join(root, 'node_modules', '@types')], noImplicitAny: false, paths }
    const project = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'], exclude: [] }
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project))
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const run = spawnSync(process.execPath, [tsc, '--pretty', 'false', '-p', folder], { encoding: 'utf8' })
    return run.stdout + run.stderr
  } finally {
    rmSync(folder, { recursive: true })
  }
}
