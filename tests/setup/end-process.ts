import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Ends a process unless it has ended. Resolves when it is gone. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}
