/** Signals that we get are the command's. */

import type { ChildProcess } from 'node:child_process'
import { isatty } from 'node:tty'

const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGINT', 'SIGQUIT'] as const
/** In a terminal these go to every process of the foreground, so the command has its own already. */
const FROM_KEYBOARD: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])
/** Those that ask to stop. */
const STOPPING: ReadonlySet<NodeJS.Signals> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'])

/**
 * Forwards until it is undone. We outlive the command: only when it is gone, and our reader still holds up what it wrote,
 * does a signal end us. `onStop` hears of signals that ask to stop.
 */
export function forwardSignals(child: ChildProcess, onStop: () => void): () => void {
  const inTerminal = [0, 1, 2].some((fd) => isatty(fd))
  const forward = (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      undo()
      process.kill(process.pid, signal)
      return
    }
    if (STOPPING.has(signal)) onStop()
    if (!(inTerminal && FROM_KEYBOARD.has(signal))) child.kill(signal)
  }
  const undo = () => {
    for (const signal of FORWARDED) process.off(signal, forward)
  }
  for (const signal of FORWARDED) process.on(signal, forward)
  return undo
}
