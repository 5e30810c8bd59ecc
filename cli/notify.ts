/** `turnwatch notify --test`: whether messages arrive, before one matters. */

import { Command } from 'commander'
import { BadInput } from '../bad-input.ts'
import type { TestResult } from '../hosts/command/test-message.ts'
import { channelsOf, NOTIFY, NOTIFY_SECRET, NOTIFY_TIMEOUT_MS } from './channels.ts'
import { collected } from './options.ts'

interface Options {
  readonly test?: true
  readonly notify?: readonly string[]
  readonly json?: true
}

export function notifyCommand(): Command {
  return new Command('notify')
    .summary('Send a test message to every receiver of messages, and say what became of it.')
    .description(
      `Send a test message, once, to every URL of --notify and ${NOTIFY}.\n` +
        `Webhooks are signed with ${NOTIFY_SECRET}; the alert of an\n` +
        'alertmanager+http URL resolves by itself in 5 minutes. Exit 1: any failed.',
    )
    .option('--test', 'send the test message')
    .option('--notify <url>', `http(s)://… or alertmanager+http(s)://…; repeatable (also ${NOTIFY})`, collected)
    .option('--json', 'print {"channel", "delivered", "failure", "ms"} lines')
    .action(run)
}

async function run({ test, notify, json }: Options): Promise<void> {
  if (!test) throw new BadInput('notify: nothing to do: turnwatch notify --test [--notify URL]... [--json]')
  const channels = await channelsOf(notify)
  if (channels.length === 0) {
    throw new BadInput(
      `notify: no channel: name one with --notify or in ${NOTIFY}, as http(s)://... or alertmanager+http(s)://...`,
    )
  }
  const { sendTest, testMessage } = await import('../hosts/command/test-message.ts')
  const message = testMessage(Date.now())
  const tests = channels.map((channel) => sendTest(channel, message, NOTIFY_TIMEOUT_MS))
  for (const one of tests) {
    const result = await one
    process.stdout.write(`${json ? JSON.stringify(result) : lineOf(result)}\n`)
    if (!result.delivered) process.exitCode = 1
  }
  await Promise.all(channels.map((channel) => channel.close?.()))
}

function lineOf({ channel, failure, ms }: TestResult): string {
  return failure === null ? `${channel}: delivered in ${ms} ms` : `${channel}: failed: ${failure}`
}
