import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { PAGE, type Row, withTable } from '../../docs/watchdog-beside-ai.ts'
import { installPackages } from '../setup/npm-packages.ts'

const COMMAND = fileURLToPath(new URL('../../docs/watchdog-beside-ai.ts', import.meta.url))
/** Every case takes some of these; a busy machine needs long ones. */
const DEADLINE_MS = 300

/** What we promise. What stands beside it is whatever the package does: the page has to say so too. */
const OURS = {
  'No answer of the server, not even headers': 'stall `headers` at 1x, retryable',
  'Comments alone, as `: OPENROUTER PROCESSING`': 'stall `first_content` at 1x, retryable',
  'Empty deltas alone': 'stall `first_content` at 1x, retryable',
  'Content, then silence': 'stall `between_content` at 1x',
  'Comments for 3x, then content; without content 4x are allowed, without any sign 1x': 'completes',
  'Nothing at all after content, under the same deadlines': 'stall `liveness` at 1x',
  'Silence before any content, with only the deadline between contents': 'hangs',
  'A piece every 0.5x for ever, 3x allowed in all': 'stall `total` at 3x',
  'A whole answer, and a connection that stays open': 'completes',
  '16 pieces there at once, a consumer that takes 1.5x for each': 'completes',
  '3 pieces, then silence; the consumer is away for 3x after the first':
    'stall `between_content` at 1x, 3 of 3 pieces read',
  'A tool on this side that takes 3x': 'completes',
  'A person is asked for 3x, between two pieces': 'completes',
  'A first try without content, retries on': 'completes, 2 requests',
  'First content deadlines of 0, NaN, -5, Infinity, 2 ** 31': 'completes, all of them',
  'Total deadlines of 0, NaN, -5, Infinity, 2 ** 31': 'completes, all of them',
  'Pieces of a type that nobody knows': 'stall `first_content` at 1x, retryable',
  "The same, with `unknown: 'content'`": 'completes',
  'The caller aborts while content is waited for': "the caller's own reason",
  'How the reader hears of a stall': 'the read throws',
  'What its error says beside the message':
    '`phase`, `timeoutMs`, `elapsedMs`, `receivedAnyContent`, `deliveredEvents`, `lastEventType`, `setting`, `settingSource`, `attempt`, `retryable`',
  'A hook of the caller that throws when it hears of it': 'stall `first_content` at 1x, retryable',
  'The consumer blocks the event loop for 3x while pieces come': 'completes',
  'The machine sleeps for ten hours between two pieces': 'completes',
}

interface Printed {
  readonly rows: readonly Row[]
  readonly table: string
}

describe.skipIf(!(await installPackages('tests/wires')))('the watchdog beside the timeouts of the AI SDK', () => {
  let printed: Printed

  beforeAll(async () => {
    const args = [COMMAND, '--json', '--deadline', String(DEADLINE_MS)]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 280_000 })
    printed = JSON.parse(stdout) as Printed
  }, 300_000)

  it('does what it promises in every case', () => {
    expect(Object.fromEntries(printed.rows.map(({ what, turnwatch }) => [what, turnwatch.says]))).toEqual(OURS)
  })

  it('is on its page as the command prints it', () => {
    const page = readFileSync(PAGE, 'utf8')
    expect(page).toBe(withTable(page, printed.table))
  })

  it('has a table whose page has a place for it', () => {
    expect(() => withTable('no place', '| a |\n')).toThrow('docs/watchdog.md has no place for the table beside-ai')
  })
})
