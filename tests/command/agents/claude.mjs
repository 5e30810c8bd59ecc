// A scripted `claude -p --output-format stream-json`: what it does is in --steps, each `name` or `name:value`.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs'

const steps = process.argv[process.argv.indexOf('--steps') + 1]?.split(' ') ?? []
let session = 'session-1'

// A test that failed leaves nothing behind for long.
setTimeout(() => process.exit(99), 90_000).unref()

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function print(bytes) {
  const all = Buffer.from(bytes)
  for (let at = 0; at < all.length; ) {
    try {
      at += writeSync(1, all, at)
    } catch (error) {
      if (error.code !== 'EAGAIN') process.exit(3)
    }
  }
}

const event = (fields) => print(`${JSON.stringify({ session_id: session, ...fields })}\n`)
const delta = (text) => ({
  type: 'stream_event',
  parent_tool_use_id: null,
  event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
})
const result = { type: 'result', subtype: 'success', is_error: false, result: 'done', stop_reason: 'end_turn' }

const doing = {
  session: (id) => {
    session = id
  },
  init: () => event({ type: 'system', subtype: 'init', model: 'claude-test-1', tools: [] }),
  text: (text = 'hello') => event(delta(text)),
  /** A token of so many bytes. */
  big: (bytes) => event(delta('x'.repeat(Number(bytes)))),
  /** The bytes of one event, one write each. */
  bytewise: async (text) => {
    for (const byte of Buffer.from(`${JSON.stringify({ session_id: session, ...delta(text) })}\n`)) {
      print([byte])
      await sleep(0)
    }
  },
  result: () => event(result),
  resultWithoutNewline: () => print(JSON.stringify({ session_id: session, ...result })),
  noise: (lines) => print('not of this wire\n'.repeat(Number(lines))),
  forever: async () => {
    for (;;) {
      event(delta('more'))
      await sleep(1)
    }
  },
  sleep: (ms) => sleep(Number(ms)),
  /** Until the file is there. */
  until: async (file) => {
    while (!existsSync(file)) await sleep(20)
  },
  mark: (file) => writeFileSync(file, String(process.pid)),
  stdin: () => writeSync(2, `read ${readFileSync(0, 'utf8')}\n`),
  say: (text) => writeSync(2, `${text} ${process.pid}\n`),
  ignore: (signal) => process.on(signal, () => writeSync(2, `ignored ${signal}\n`)),
  /** Leaves a process behind that holds our stdout. */
  leave: (ms) => {
    spawn(process.execPath, ['-e', `setTimeout(() => {}, ${ms})`], {
      stdio: ['ignore', 1, 'ignore'],
      detached: true,
    }).unref()
  },
  closeStdout: async () => (await import('node:fs')).closeSync(1),
  hang: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
  die: (signal) => {
    process.kill(process.pid, signal)
    return sleep(60_000)
  },
  exit: (code) => process.exit(Number(code)),
}

for (const step of steps) {
  const [name, ...value] = step.split(':')
  await doing[name](...(value.length > 0 ? [value.join(':')] : []))
}
process.exit(0)
