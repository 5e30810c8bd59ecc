/** Whether processes are still there: a zombie, and a pid that another process has taken over, count as gone. */

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'

interface Watched {
  readonly onGone: () => void
  readonly isOver: () => boolean
  /** Start time of the process, in the platform's own spelling; null before the first look. */
  born: string | null
}

/** On platforms without /proc a look costs a process of its own. */
const PS_EVERY_MS = 15_000

export class ProcessWatch {
  readonly #watched = new Map<number, Watched[]>()
  readonly #onFault: (error: unknown) => void
  #looking = false
  #lastPs = Number.NEGATIVE_INFINITY

  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault
  }

  /** Calls `onGone` once the process is gone. A watch that `isOver` is dropped: a process may serve many turns. */
  watch(pid: number, onGone: () => void, isOver: () => boolean = () => false): void {
    const watchers = (this.#watched.get(pid) ?? []).filter((watched) => !watched.isOver())
    this.#watched.set(pid, [...watchers, { onGone, isOver, born: null }])
  }

  stop(): void {
    this.#watched.clear()
  }

  /** Looks at every process, off the event loop; a look that is still under way is not started again. */
  check(): void {
    if (this.#watched.size === 0 || this.#looking) return
    this.#looking = true
    this.#checkAll()
      .catch(this.#onFault)
      .finally(() => {
        this.#looking = false
      })
  }

  async #checkAll(): Promise<void> {
    const now = performance.now()
    const withPs = now - this.#lastPs >= PS_EVERY_MS
    if (withPs) this.#lastPs = now
    for (const [pid, watchers] of [...this.#watched]) {
      const born = await this.#birth(pid, withPs)
      if (born === undefined) continue
      const gone = watchers.filter((watched) => born === null || (watched.born !== null && watched.born !== born))
      for (const watched of watchers) watched.born ??= born
      // Others may have come while this one was looked at.
      const left = (this.#watched.get(pid) ?? []).filter((watched) => !gone.includes(watched) && !watched.isOver())
      if (left.length === 0) this.#watched.delete(pid)
      else this.#watched.set(pid, left)
      for (const watched of gone) if (!watched.isOver()) watched.onGone()
    }
  }

  /** The start time of a process that lives, null of one that does not, undefined when that cannot be told now. */
  async #birth(pid: number, withPs: boolean): Promise<string | null | undefined> {
    if (!exists(pid)) return null
    if (process.platform === 'linux') return statBirth(pid)
    if (process.platform === 'win32') return 'alive'
    return withPs ? psBirth(pid) : undefined
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Reads /proc/<pid>/stat: state and start time follow the last ')', because a program's name may contain one. */
async function statBirth(pid: number): Promise<string | null | undefined> {
  let stat: string
  try {
    stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : undefined
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state] = fields
  return state === 'Z' || state === 'X' ? null : (fields[19] ?? undefined)
}

function psBirth(pid: number): Promise<string | null | undefined> {
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { timeout: 5000 }, (error, stdout) => {
      const line = stdout.trim()
      if (error && line === '' && error.code !== 1) resolve(undefined)
      else if (line === '' || line.startsWith('Z')) resolve(null)
      else resolve(line.slice(line.indexOf(' ') + 1).trim())
    })
  })
}
