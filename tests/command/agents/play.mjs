// Prints what the agent of a recorded trace printed, at once.

import { readFileSync, writeSync } from 'node:fs'

export function play(trace) {
  for (const line of readFileSync(trace, 'utf8').split('\n')) {
    if (line === '') continue
    const { dir = 'in', event } = JSON.parse(line)
    if (dir === 'in') writeSync(1, `${JSON.stringify(event)}\n`)
  }
}

if (process.argv[1] === import.meta.filename) play(process.argv[2])
