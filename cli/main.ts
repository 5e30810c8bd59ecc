#!/usr/bin/env node
/** The turnwatch command. */

import { Command, CommanderError } from 'commander'
import { BadInput } from '../bad-input.ts'
import { packageVersion } from '../package-root.ts'
import { classifyCommand } from './classify.ts'
import { demoCommand } from './demo.ts'
import { learnCommand, thresholdsCommand } from './learn.ts'
import { replayCommand } from './replay.ts'
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
]) {
  program.addCommand(command)
}
for (const command of [program, ...program.commands]) {
  command
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'turnwatch: ')) })
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

/** A reader that has seen enough, such as `head`, is no error. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}
