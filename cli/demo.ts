/** `turnwatch demo`: recorded runs at their real pace, with the live page. */

import { Command } from 'commander'
import { BadInput } from '../bad-input.ts'
import { channelsOf } from './channels.ts'
import { finiteDuration, port } from './options.ts'

const DEFAULT_PORT = 9464

export function demoCommand(): Command {
  return new Command('demo')
    .description('Play recorded agent runs at their real pace, one of which dies, and serve the live page.')
    .option(
      '--port <port>',
      `port of the live page, 0 for any free one (default: TURNWATCH_PORT or ${DEFAULT_PORT})`,
      port,
    )
    .option(
      '--round <duration>',
      'how long a round lasts at least, with its dead child in it (default: 40s)',
      finiteDuration,
    )
    .action(run)
}

async function run(options: { port?: number; round?: number }): Promise<void> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  if (process.env.npm_lifecycle_event === 'start') endWithParent(stop)
  const channels = await channelsOf()
  const { demo } = await import('../hosts/demo/demo.ts')
  const wanted = options.port ?? portFromEnvironment() ?? DEFAULT_PORT
  try {
    await demo({
      port: wanted,
      roundMs: options.round,
      channels,
      say: (line) => process.stdout.write(`${line}\n`),
      signal: stop.signal,
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new BadInput(`port ${wanted} is in use: set TURNWATCH_PORT or --port to another, or to 0 for any free one`)
  }
}

function portFromEnvironment(): number | null {
  const { TURNWATCH_PORT } = process.env
  if (TURNWATCH_PORT === undefined || TURNWATCH_PORT === '') return null
  try {
    return port(TURNWATCH_PORT)
  } catch (error) {
    throw new BadInput(`TURNWATCH_PORT: ${JSON.stringify(TURNWATCH_PORT)}: ${(error as Error).message}`)
  }
}

/** npm that is killed does not take what it runs along, and the port would stay taken. */
function endWithParent(stop: AbortController): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop.abort()
  }, 1000).unref()
}
