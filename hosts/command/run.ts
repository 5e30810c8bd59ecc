/** Runs an agent command as if we were not there, and watches every turn in its output. */

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { BadInput } from '../../bad-input.ts'
import type { ThresholdOptions } from '../../detector/thresholds.ts'
import type { SourceName } from '../../instrumentation/sources/index.ts'
import type { LivenessServer } from '../../liveness/server.ts'
import type { Channel } from '../../notifier/channel.ts'
import { staleText } from '../../notifier/message-text.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { createTurnwatch, type Turnwatch } from '../../turnwatch.ts'
import type { TurnwatchOptions } from '../../turnwatch-options.ts'
import { AgentOutput } from './agent-output.ts'
import { openSink } from './byte-sink.ts'
import { passStdin } from './command-stdin.ts'
import { CommandStdout } from './command-stdout.ts'
import { forwardSignals } from './forward-signals.ts'
import type { MetricsFile } from './metrics-file.ts'
import { Notes } from './notes.ts'
import { agentOfSource, missingFlags, recogniseCommand } from './recognise-command.ts'
import { type Exit, exitCode, startCommand, startFailureCode } from './start-command.ts'

export interface RunOptions {
  readonly source?: SourceName | undefined
  readonly thread?: string | undefined
  readonly parent?: string | undefined
  readonly model?: string | undefined
  readonly thresholds: ThresholdOptions
  /** Of the live page; null for none, 0 for any free one. */
  readonly port: number | null
  readonly metricsFile?: string | undefined
  /** Ways out for messages; without any there is no notifier. */
  readonly channels: readonly Channel[]
  /** Where samples and messages are kept; null for memory only. */
  readonly storeFile: string | null
}

/** A command that closed its stdout is given this long to exit, so that its code is known. */
const EXIT_AFTER_END_MS = 500

/** A command of no known kind that has said nothing for this long gets a note, unless --first-token says otherwise. */
const UNWATCHED_MS = 120_000
const MAX_TIMER_MS = 2 ** 31 - 1

const UNKNOWN_OUTPUT =
  'output of no known format, passed through unwatched (known: claude -p --output-format stream-json, codex exec --json, ' +
  'codex app-server, opencode run --format json; or name it with --source)'

/** How we end. */
export interface Ending {
  readonly code: number
  /** The command died of an interrupt from the keyboard. A shell stops its script only if that ends us too. */
  readonly interrupted: boolean
}

/** Resolves when the command has ended and all is written. Throws BadInput for a port or file that cannot be had. */
export async function runCommand(command: readonly string[], options: RunOptions): Promise<Ending> {
  const notes = new Notes(openSink(2))
  const say = (text: string) => notes.say(text)
  const { channels, storeFile, thresholds } = options
  const watch = createTurnwatch({
    thresholds,
    onError: onceEach(say),
    ...(storeFile === null ? {} : { store: sqliteStore(storeFile) }),
    // Nobody else supervises an agent that we run.
    ...(channels.length === 0 ? {} : { notify: { channels, isManagedElsewhere: () => false } }),
  } satisfies TurnwatchOptions).start()
  announce(watch, say)
  let server: LivenessServer | undefined
  let metrics: MetricsFile | undefined
  try {
    server = options.port === null ? undefined : await serve(watch, options.port)
    if (server) say(`live page at ${server.url}/`)
    metrics = await writeMetricsFile(watch, options.metricsFile, say)
    return await runWatched(command, options, watch, say)
  } finally {
    // The last metrics say what became of the last messages.
    await watch.stop()
    await Promise.all([metrics?.close(), server?.close()])
    await notes.flushed()
  }
}

async function runWatched(
  command: readonly string[],
  options: RunOptions,
  watch: Turnwatch,
  say: (text: string) => void,
): Promise<Ending> {
  const agent = recogniseCommand(command) ?? agentOfSource(options.source)
  const missing = agent === null ? missingFlags(command) : null
  if (missing !== null) say(`this agent can be watched only with ${missing}`)
  const onUnknown = () => {
    if (missing === null) say(UNKNOWN_OUTPUT)
  }
  const output = new AgentOutput({ ...options, watch, agent, onUnknown })
  // Nobody talks to an agent that runs one turn; what it gets is not looked at, so it can have our own.
  const hasOurStdin = isatty(0) || (agent?.oneShot === true && (options.source ?? agent.source) === agent.source)
  const { process: child, ...streams } = startCommand(command, hasOurStdin ? 'inherit' : 'pipe')
  const exited = exitOf(child)
  const unforward = forwardSignals(child, () => output.interrupted())
  try {
    await once(child, 'spawn')
  } catch (error) {
    unforward()
    say(`${command[0] || "''"}: ${startFailure(error as NodeJS.ErrnoException)}`)
    return { code: startFailureCode(error as NodeJS.ErrnoException), interrupted: false }
  }
  const unwatched = noteUnwatched(output, options.thresholds.firstTokenMs ?? UNWATCHED_MS, say)
  // A signal that cannot be delivered is no reason to end.
  child.on('error', () => {})
  output.started(child.pid as number)
  const stopStdin = streams.stdin && passStdin(process.stdin, streams.stdin, (chunk) => output.take(chunk, 'out'))
  let readerGone = false
  let writeFailed = false
  const stdout = new CommandStdout(streams.stdout, openSink(1), {
    onChunk: (chunk) => output.take(chunk, 'in'),
    onBlocked: (isBlocked) => output.blocked(isBlocked),
    onReaderGone: (error) => {
      readerGone = true
      output.end('aborted')
      if (error.code === 'EPIPE') return
      writeFailed = true
      say(`stdout: ${error.message}`)
    },
  })
  void stdout.ended.then(() => clearTimeout(unwatched))
  // Whichever comes first: an agent without stdout is as good as gone, but how it exits is worth a moment.
  const first = await Promise.race([exited, stdout.ended.then(() => null)])
  if (first === null && !readerGone) {
    const exit = await Promise.race([exited, sleep(EXIT_AFTER_END_MS, { code: null, signal: null })])
    output.exited(exit)
  }
  const exit = await exited
  await stdout.drained()
  output.exited(exit)
  // The metrics file outlives us; a turn that runs in it for ever would be an alert for ever.
  output.end('lost')
  stopStdin?.()
  await stdout.close()
  unforward()
  return {
    // What the command said was lost, so this is no success whatever it thinks.
    code: writeFailed && exit.code === 0 ? 1 : exitCode(exit),
    interrupted: exit.signal === 'SIGINT' && isatty(0),
  }
}

/** A command that says nothing cannot be told from one that is never watched; after a while we say which it is. */
function noteUnwatched(output: AgentOutput, afterMs: number, say: (text: string) => void) {
  if (!Number.isFinite(afterMs)) return undefined
  const note = () => {
    if (!output.watching) say('nothing is watched so far: the command has said nothing in a known format')
  }
  return setTimeout(note, Math.min(afterMs, MAX_TIMER_MS)).unref()
}

async function writeMetricsFile(watch: Turnwatch, name: string | undefined, say: (text: string) => void) {
  if (name === undefined) return undefined
  const { keepMetricsFile, metricsTarget } = await import('./metrics-file.ts')
  return keepMetricsFile(watch, metricsTarget(name), (error) => say(`--metrics-file ${name}: ${error.message}`))
}

async function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

function startFailure(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
      return 'command not found'
    case 'EACCES':
      return 'cannot be executed'
    default:
      return error.message
  }
}

function announce(watch: Turnwatch, say: (text: string) => void): void {
  watch.on('stale', (verdict) => say(staleText(verdict)))
  watch.on('recovered', ({ threadId, silenceMs, reason }) => {
    say(`recovered: ${threadId}: goes on after ${(silenceMs / 1000).toFixed(1)} s (${reason})`)
  })
}

async function serve(watch: Turnwatch, port: number) {
  const { serveLiveness } = await import('../../liveness/server.ts')
  try {
    return await serveLiveness(watch, { port, unref: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new BadInput(`--port ${port}: ${code === 'EADDRINUSE' ? 'already in use' : message}`)
  }
}

/**
 * A fault that lasts, such as a locked store, is one line and not one a second. What the notifier says has its own words
 * for each channel, which says nothing twice while it lasts.
 */
function onceEach(say: (text: string) => void): (fault: Error) => void {
  const said = new Set<string>()
  return ({ message }) => {
    const text = message.replace(/^turnwatch: /, '')
    const where = text.split(':')[0] as string
    const what = where === 'notifier' ? text : where
    if (said.has(what)) return
    said.add(what)
    say(text)
  }
}
