/** Whether processes are still there: a zombie, and a pid that another process has taken over, count as gone. */

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'

interface Watched {
  readonly onGone: () => void
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

  watch(pid: number, onGone: () => void): void {
    const watched: Watched = { onGone, born: null }
    this.#watched.set(pid, [...(this.#watched.get(pid) ?? []), watched])
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
    for (const [pid, watchers] of this.#watched) {
      const born = await this.#birth(pid)
      if (born === undefined) continue
      const gone = watchers.filter((watched) => born === null || (watched.born !== null && watched.born !== born))
      for (const watched of watchers) watched.born ??= born
      if (gone.length === 0) continue
      this.#watched.delete(pid)
      for (const watched of gone) watched.onGone()
    }
  }

  /** The start time of a process that lives, null of one that does not, undefined when that cannot be told now. */
  async #birth(pid: number): Promise<string | null | undefined> {
    if (!exists(pid)) return null
    if (process.platform === 'linux') return statBirth(pid)
    if (process.platform === 'win32') return 'alive'
    if (performance.now() - this.#lastPs < PS_EVERY_MS) return undefined
    this.#lastPs = performance.now()
    return psBirth(pid)
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
