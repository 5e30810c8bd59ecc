/**
 * A pipe as a shell makes it, for the command's stdout. Node would connect it by a socket pair: a program cannot open that
 * as /dev/stdout, and whoever writes into one that was closed gets ECONNRESET where a pipe gives EPIPE and SIGPIPE.
 */

import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** POSIX has it everywhere; Node has no call for it. */
const MAKE_FIFO = 'mkfifo'

export interface RealPipe {
  /** Descriptor to read from. */
  readonly read: number
  /** Descriptor to write to. */
  readonly write: number
}

/** A pipe of this process, or null where none can be made. */
export function makePipe(): RealPipe | null {
  if (process.platform === 'win32') return null
  let folder: string | undefined
  try {
    folder = mkdtempSync(join(tmpdir(), 'turnwatch-'))
    const path = join(folder, 'pipe')
    execFileSync(MAKE_FIFO, ['-m', '600', path], { stdio: 'ignore' })
    // Either end alone would wait for the other.
    const both = openSync(path, constants.O_RDWR)
    try {
      return { read: openSync(path, constants.O_RDONLY), write: openSync(path, constants.O_WRONLY) }
    } finally {
      closeSync(both)
    }
  } catch {
    return null
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
}
