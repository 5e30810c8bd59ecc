/** `turnwatch run`: an agent command, passed through and watched. */

import { Command } from 'commander'
import { BadInput } from '../bad-input.ts'
import type { Preset } from '../detector/thresholds.ts'
import type { SourceName } from '../instrumentation/sources/index.ts'
import { channelsOf, NOTIFY, NOTIFY_SECRET } from './channels.ts'
import { collected, defaultStoreFile, duration, file, name, portOrOff, preset, source } from './options.ts'

interface Options {
  readonly source?: SourceName
  readonly thread?: string
  readonly parent?: string
  readonly model?: string
  readonly preset?: Preset
  readonly firstToken?: number
  readonly midStream?: number
  readonly afterTool?: number
  readonly port?: number | 'off'
  readonly metricsFile?: string
  readonly notify?: readonly string[]
  readonly store: string
}

export function runCommand(): Command {
  return new Command('run')
    .description('Run an agent command, and say when one of its turns stops streaming.')
    .usage('[options] -- COMMAND...')
    .argument('[COMMAND...]', 'the command and its arguments, options too')
    .passThroughOptions()
    .option('--source <name>', 'wire format of its output, instead of recognising it', source)
    .option('--thread <id>', 'name of the thread, instead of the session id in the output', name)
    .option('--parent <id>', 'the thread that started it', name)
    .option('--model <model>', 'its model, where the output does not say it', name)
    .option('--preset <preset>', 'standard or cautious', preset)
    .option('--first-token <duration>', 'default silence before the first token; 0 or off: never', duration)
    .option('--mid-stream <duration>', 'default silence afterwards', duration)
    .option('--after-tool <duration>', 'default silence after a tool (default: as --mid-stream)', duration)
    .option(
      '--port <port>',
      'serve the live page and /metrics on this port, 0 for any free one (default: off)',
      portOrOff,
    )
    .option('--metrics-file <file>', "keep the metrics in a file for node_exporter's textfile collector", file)
    .option(
      '--notify <url>',
      `tell of stale turns: a webhook http(s)://… or alertmanager+http(s)://…; repeatable (also ${NOTIFY}; signed with ${NOTIFY_SECRET})`,
      collected,
    )
    .option(
      '--store <file>',
      'where learned samples and undelivered messages are kept; off: nowhere',
      file,
      defaultStoreFile(),
    )
    .action(run)
}

async function run(command: string[], options: Options): Promise<void> {
  if (command.length === 0) throw new BadInput('run: no COMMAND: turnwatch run [options] -- COMMAND...')
  const afterTool = options.afterTool ?? options.midStream
  const channels = await channelsOf(options.notify)
  const { runCommand: runAgent } = await import('../hosts/command/run.ts')
  const { code, interrupted } = await runAgent(command, {
    source: options.source,
    thread: options.thread,
    parent: options.parent,
    model: options.model,
    thresholds: {
      ...(options.preset === undefined ? {} : { preset: options.preset }),
      ...(options.firstToken === undefined ? {} : { firstTokenMs: options.firstToken }),
      ...(options.midStream === undefined ? {} : { midStreamMs: options.midStream }),
      ...(afterTool === undefined ? {} : { afterToolMs: afterTool }),
    },
    port: options.port === undefined || options.port === 'off' ? null : options.port,
    metricsFile: options.metricsFile,
    channels,
    storeFile: options.store === 'off' ? null : options.store,
  })
  if (interrupted) process.kill(process.pid, 'SIGINT')
  // Everything is written; a pipe that a process of the command's still holds must not keep us.
  process.exit(code)
}
