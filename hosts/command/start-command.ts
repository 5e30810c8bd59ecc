/** Starting the command, as a shell would: its own exit codes where that fails, and scripts of npm on Windows. */

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { closeSync, existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { constants } from 'node:os'
import { extname, win32 } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { makePipe } from './real-pipe.ts'

/** How a command ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const NOT_EXECUTABLE = 126
const NOT_FOUND = 127

/** The exit code that shells give a command that could not be started. */
export function startFailureCode(error: NodeJS.ErrnoException): number {
  return error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE
}

/** The exit code of a command that ended: its own, or 128 and the signal's number. */
export function exitCode({ code, signal }: Exit): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal])
}

export interface Started {
  readonly process: ChildProcess
  /** Null where it is our own stdin. */
  readonly stdin: Writable | null
  readonly stdout: Readable
}

/** Starts the command; its stderr is ours. A failure comes as the process' `error`. */
export function startCommand([file, ...args]: readonly string[], stdin: 'inherit' | 'pipe'): Started {
  // Node refuses an empty name in a way of its own; no file has that of a space either.
  const command = [file === '' ? ' ' : (file as string), ...args]
  const output = makePipe()
  // Not a pipe of that kind: opened by name after its end, it would wait for a writer for ever.
  const child = spawnAs(command, [stdin, output?.write ?? 'pipe', 'inherit'])
  // Only the command may hold this end, or it would never be seen closed.
  if (output) closeSync(output.write)
  return {
    process: child,
    stdin: child.stdin,
    stdout: output ? new Socket({ fd: output.read, readable: true, writable: false }) : (child.stdout as Readable),
  }
}

function spawnAs(command: readonly string[], stdio: StdioOptions): ChildProcess {
  const [file, ...args] = command as [string, ...string[]]
  if (process.platform !== 'win32') return spawn(file, args, { stdio })
  const found = findOnWindows(file, process.env)
  if (found === null || !/\.(cmd|bat)$/i.test(found)) return spawn(found ?? file, args, { stdio })
  const shell = process.env.ComSpec ?? 'cmd.exe'
  return spawn(shell, ['/d', '/s', '/c', `"${batchCommandLine(found, args)}"`], {
    stdio,
    windowsVerbatimArguments: true,
  })
}

/** The file that Windows' own search would run, by PATH and PATHEXT; null when there is none. */
export function findOnWindows(
  file: string,
  env: NodeJS.ProcessEnv,
  exists: (file: string) => boolean = existsSync,
): string | null {
  const folders = /[\\/]/.test(file) ? [''] : ['.', ...(env.PATH ?? env.Path ?? '').split(';')]
  const extensions = (env.PATHEXT ?? '.COM;.EXE;.BAT;.CMD').split(';')
  for (const folder of folders) {
    const path = folder === '' ? file : win32.join(folder, file)
    const names = extname(file) === '' ? extensions.map((extension) => path + extension) : [path]
    const found = names.find((name) => exists(name))
    if (found !== undefined) return found
  }
  return null
}

/** A batch file and its arguments as cmd.exe takes them. It reads them twice, because npm's batch files pass on `%*`. */
export function batchCommandLine(file: string, args: readonly string[]): string {
  return [escaped(file), ...args.map((arg) => escaped(escaped(quoted(arg))))].join(' ')
}

/** Quoted for the program: backslashes count only in front of a quote. */
function quoted(arg: string): string {
  return `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`
}

function escaped(text: string): string {
  return text.replace(/[()\][%!^"`<>&|;, *?]/g, '^$&')
}
