/** The tables of the sources have all that the SDKs of their wires have: types checked by the compiler. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { installPackages } from '../setup/npm-packages.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const wires = join(root, 'tests', 'wires')

/** The check of each wire, by its name. */
const checks = Object.fromEntries(
  readdirSync(wires)
    .filter((file) => file.endsWith('.ts') && file !== 'check.ts')
    .map((file) => [file.replace(/\.ts$/, ''), readFileSync(join(wires, file), 'utf8')]),
)

/** Keys that each table is to lose: of the wire's own types, and of the parts that have keys of their own. */
const LOST: Record<string, readonly string[]> = {
  acp: [
    'response:session/prompt:refusal',
    'session/request_permission',
    'session/update:agent_message_chunk',
    'session/update:agent_thought',
    'session/update:session_message',
  ],
  'ai-sdk-fullstream': ['tool-error'],
  'ai-sdk-fullstream-v6': ['abort'],
  'ai-sdk-ui-stream': ['tool-output-denied'],
  'anthropic-messages': ['content_block_delta/signature_delta', 'content_block_start/mcp_tool_use', 'message_stop'],
  'claude-code': [
    'control_request/can_use_tool',
    'control_response/error',
    'rate_limit_event',
    'result/error_max_turns',
    'stream_event/content_block_delta/thinking_delta',
    'stream_event/content_block_start/mcp_tool_use',
    'stream_event/message_stop',
    'system/api_retry',
  ],
  'codex-exec': ['turn.failed'],
  mcp: ['notifications/progress', 'sampling/createMessage'],
  'openai-chat-chunk': ['delta.function_call', 'delta.reasoning'],
  'openai-responses': ['response.mcp_call.failed'],
  'opencode-sse': ['permission.updated', 'session.next.text.delta'],
  'openrouter-responses': ['response.fusion_call.analysis.completed'],
}

/** What the compiler says of a project: nothing where all is well. */
function compile(project: string): string {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = ['--noEmit', '--noErrorTruncation', '--pretty', 'false', '-p', project]
  const run = spawnSync(process.execPath, [tsc, ...options], { encoding: 'utf8' })
  return run.stdout + run.stderr
}

/** Compiles files of a folder that is gone after the test. Gives the members, by file, that were to be none. */
function wrongIn(files: Readonly<Record<string, string>>): Record<string, string[]> {
  const folder = mkdtempSync(join(wires, 'node_modules', '.changed-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const project = { extends: join(wires, 'tsconfig.json'), include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project))
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, `${name}.ts`), text.replace(/(?<= from ')(?=\.)/g, '../../'))
  }
  const wrong: Record<string, string[]> = {}
  for (const line of compile(folder).split('\n')) {
    // What the compiler adds to an error is indented.
    if (line === '' || line.startsWith(' ')) continue
    const [, name, members] = /([\w-]+)\.ts\(.*: Type '(.+)' does not satisfy the constraint 'never'/.exec(line) ?? []
    if (name === undefined || members === undefined) throw new Error(line)
    wrong[name] = [...(wrong[name] ?? []), ...members.replaceAll('"', '').split(' | ')].sort()
  }
  return wrong
}

const changed = (change: (text: string, name: string) => string) =>
  Object.fromEntries(Object.entries(checks).map(([name, text]) => [name, change(text, name)]))

describe.skipIf(!(await installPackages('tests/wires')))('the tables of the sources', () => {
  it('have every type, part, status and reason of the SDKs', () => {
    expect(compile(wires)).toBe('')
  })

  it('do not compile, by the name of what is new, when any union of an SDK gets one more member', () => {
    const files = changed((text) => text.replace(/(?<=None<\s*(?:Missing|Difference)<)/g, "'something-new' | "))
    const expected = changed((text) => 'something-new '.repeat(text.split('None<').length - 1).trim())
    const found = Object.entries(wrongIn(files)).map(([name, members]) => [name, members.join(' ')])
    expect(Object.fromEntries(found)).toEqual(expected)
  })

  it('do not compile, by the names of what they lack, when they lose types that the SDKs have', () => {
    const lost = (name: string) => (LOST[name] ?? []).map((key) => `'${key}'`).join(' | ')
    const files = changed((text, name) =>
      text.replace(/(?<=^type Table = ).+/m, (table) => `Omit<${table}, ${lost(name)}>`),
    )
    expect(wrongIn(files)).toEqual(LOST)
  })

  it('do not compile when an SDK no longer tells its types apart', () => {
    const union = (types: string) =>
      `import type { Missing, None } from './check.ts'\nexport type Checks = [None<Missing<${types}, { a: 1 }>>]\n`
    const files = { any: union('any'), never: union('never'), string: union('string'), closed: union("'a'") }
    expect(wrongIn(files)).toEqual({ any: ['any'], never: ['no types'], string: ['string'] })
  })
})
