/** `turnwatch classify`: the class of each raw event on stdin, a line each. */

import { createInterface } from 'node:readline'
import { Command } from 'commander'
import { classify, isSentinel, type SourceName } from '../instrumentation/sources/index.ts'
import { source } from './options.ts'

export function classifyCommand(): Command {
  return new Command('classify')
    .description('Classify raw provider events: JSON lines on stdin, {"key", "class"} lines on stdout.')
    .requiredOption('--source <name>', 'wire format', source)
    .action(({ source: name }: { source: SourceName }) => run(name))
}

async function run(name: SourceName): Promise<void> {
  let bad = false
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    const answer = classifyLine(name, line)
    if ('error' in answer) bad = true
    if (!process.stdout.write(`${JSON.stringify(answer)}\n`)) {
      await new Promise((resolve) => process.stdout.once('drain', resolve))
    }
  }
  if (bad) process.exitCode = 2
}

function classifyLine(name: SourceName, line: string) {
  try {
    const found = classify(name, eventIn(name, line))
    return { key: found.key, class: found.class }
  } catch (error) {
    return { key: null, class: 'neutral', error: (error as Error).message }
  }
}

/** Streams whose lines may come as those of server-sent events. */
const EVENT_STREAMS: ReadonlySet<SourceName> = new Set<SourceName>(['openai-chat-chunk', 'ai-sdk-ui-stream'])

/** The raw event of a line; undefined for one that only parts server-sent events. */
function eventIn(name: SourceName, line: string): unknown {
  if (!EVENT_STREAMS.has(name)) return JSON.parse(line)
  const data = line.replace(/^data:/, '').trim()
  return data === '' ? undefined : isSentinel(name, data) ? data : JSON.parse(data)
}
