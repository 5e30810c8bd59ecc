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
  .showHelpAfterError('(turnwatch --help lists the commands)')
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
for (const command of [program, ...program.commands]) command.exitOverride()

// A reader that has seen enough, such as `head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
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
