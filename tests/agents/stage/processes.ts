/** The processes that belong to a stage, by a variable that they all inherit. */

import { readdirSync, readFileSync } from 'node:fs'

/** The variable; its value is the stage's folder. */
export const MARK = 'TURNWATCH_TEST_STAGE'

export interface StagedProcess {
  readonly pid: number
  readonly parent: number
  /** Its program and arguments, a space between. */
  readonly command: string
}

/** All of them that still run; zombies do not. Empty where there is no /proc. */
export function processesOf(stage: string): StagedProcess[] {
  return pids().flatMap((pid) => {
    const environment = read(`/proc/${pid}/environ`).split('\0')
    if (!environment.includes(`${MARK}=${stage}`)) return []
    // The name in parentheses may hold anything.
    const [state = 'Z', parent = '0'] = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
    if (state === 'Z') return []
    return [{ pid, parent: Number(parent), command: read(`/proc/${pid}/cmdline`).split('\0').join(' ').trim() }]
  })
}

function pids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

/** A process may end while it is looked at. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
