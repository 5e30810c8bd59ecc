/**
 * What `turnwatch/watchdog` and the timeouts of the AI SDK do in the same cases, by running them. `node
 * docs/watchdog-beside-ai.ts` prints the table of docs/watchdog.md, with `--write` puts it there, with `--json` prints what
 * it was made of. `--deadline MS` is what all times are measured by: longer on a machine that is busy.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installPackages } from '../tests/setup/npm-packages.ts'
import { type AiSdk, loadAi } from './watchdog/ai-sdk.ts'
import { cases } from './watchdog/cases.ts'
import { type Case, type Cell, Sides } from './watchdog/sides.ts'
import { startWire } from './watchdog/wire.ts'

/** Cases that run at the same time. */
const AT_ONCE = 6

export interface Row {
  readonly what: string
  readonly turnwatch: Cell
  readonly ai: Cell
}

export async function rowsOf(ai: AiSdk, deadlineMs: number): Promise<Row[]> {
  const wire = await startWire()
  try {
    const all = cases(new Sides(deadlineMs, ai, wire))
    // The first run of anything is slow.
    await all[0]?.ai()
    await all[0]?.turnwatch()
    const rows = new Map<Case, Row>()
    const waiting = all.filter(({ runsAlone }) => !runsAlone)
    const worker = async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) rows.set(one, await rowOf(one))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    for (const one of all) if (!rows.has(one)) rows.set(one, await rowOf(one))
    return all.map((one) => rows.get(one) as Row)
  } finally {
    await wire.close()
  }
}

async function rowOf({ what, turnwatch, ai, runsAlone }: Case): Promise<Row> {
  if (!runsAlone) {
    const [ours, theirs] = await Promise.all([turnwatch(), ai()])
    return { what, turnwatch: ours, ai: theirs }
  }
  return { what, turnwatch: await turnwatch(), ai: await ai() }
}

export function tableOf(rows: readonly Row[], version: string): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return [
    line(['what happens', '`turnwatch/watchdog`', `\`timeout\` of \`ai\` ${version}`]),
    line(['---', '---', '---']),
    ...rows.map(({ what, turnwatch, ai }) => line([what, turnwatch.says, ai.says])),
  ].join('')
}

export const PAGE = fileURLToPath(new URL('watchdog.md', import.meta.url))

/** The page with this table. Throws where it has no place for it. */
export function withTable(page: string, table: string): string {
  const place = /(<!-- beside-ai -->\n)(?:\|.*\n)*/
  if (!place.test(page)) throw new Error('docs/watchdog.md has no place for the table beside-ai')
  return page.replace(place, (_all, comment: string) => comment + table)
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { json: { type: 'boolean' }, write: { type: 'boolean' }, deadline: { type: 'string', default: '200' } },
  })
  if (!(await installPackages('tests/wires'))) process.exit(1)
  const ai = await loadAi()
  const rows = await rowsOf(ai, Number(values.deadline))
  const table = tableOf(rows, ai.version)
  if (values.write) writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), table))
  else process.stdout.write(values.json ? `${JSON.stringify({ version: ai.version, rows, table }, null, 2)}\n` : table)
  // Calls of the SDK that hang leave timers and streams behind.
  process.exit()
}
