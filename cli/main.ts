#!/usr/bin/env node
/** The turnwatch command. */

import { Command, CommanderError } from 'commander'
import { BadInput } from '../bad-input.ts'
import { packageVersion } from '../package-root.ts'
import { classifyCommand } from './classify.ts'
import { dashboardsCommand } from './dashboards.ts'
import { demoCommand } from './demo.ts'
import { learnCommand, thresholdsCommand } from './learn.ts'
import { notifyCommand } from './notify.ts'
import { replayCommand } from './replay.ts'
import { rulesCommand } from './rules.ts'
import { runCommand } from './run.ts'

const FAILURE = 1
const BAD_INPUT = 2

const program = new Command('turnwatch')
  .description('Notices an agent turn that stopped streaming, and tells whoever started it.')
  .version(packageVersion())
  .option('--debug', 'show stack traces')
  .enablePositionalOptions()
for (const command of [
  runCommand(),
  demoCommand(),
  replayCommand(),
  classifyCommand(),
  learnCommand(),
  thresholdsCommand(),
  notifyCommand(),
  rulesCommand(),
  dashboardsCommand(),
]) {
  program.addCommand(command)
}
for (const command of [program, ...program.commands]) {
  command
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({ outputError: (text, write) => write(`turnwatch: ${withAllowed(command, text)}\n`) })
}

// `run` writes for its command, in a way of its own: touching Node's stream would change the descriptor they share.
program.hook('preAction', (_program, command) => {
  if (command.name() !== 'run') process.stdout.on('error', endWithReader)
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

function report(error: unknown): number {
  // commander has printed what was wrong already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : BAD_INPUT
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  process.stderr.write(`turnwatch: ${program.opts().debug ? stack : message}\n`)
  return error instanceof BadInput ? BAD_INPUT : FAILURE
}

/** What was wrong, in one line, with what is allowed where a name is none that we know. */
function withAllowed(command: Command, text: string): string {
  // A value that was given with it may hold a secret.
  const wrong = text
    .trimEnd()
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^'=]*)=.*'$/s, "$1'")
  const options = [...command.options.map(({ long, short }) => long ?? short), '--help']
  if (wrong.startsWith('unknown option')) return `${wrong}; allowed: ${options.join(', ')}`
  if (!wrong.startsWith('unknown command')) return wrong
  return `${wrong}; allowed: ${command.commands.map((one) => one.name()).join(', ')}`
}

/** A reader that has seen enough, such as `head`, is no error. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}
