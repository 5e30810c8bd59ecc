/** How things are measured: time and allocation of a call, time of a long run, and what a structure keeps alive. */

import { GCProfiler } from 'node:v8'
import { measure } from 'mitata'

export interface Spread {
  readonly median: number
  readonly worst: number
}

/** The median time of a call in ns, over batches of thousands of calls. */
export async function nsPerCall(call: () => unknown): Promise<number> {
  return (await measure(call)).p50
}

/**
 * Bytes that a call allocates on the heap: what the heap grew by between its collections. The least of three rounds,
 * because compiled code counts as well in the rounds in which the compiler still makes some. Needs `--expose-gc`.
 */
export function bytesPerCall(call: () => unknown, calls = 1e7): number {
  return Math.min(...Array.from({ length: 3 }, () => bytesAllocated(call, calls) / calls))
}

function bytesAllocated(call: () => unknown, calls: number): number {
  collectGarbage()
  const profiler = new GCProfiler()
  profiler.start()
  let before = process.memoryUsage().heapUsed
  for (let i = 0; i < calls; i++) call()
  const after = process.memoryUsage().heapUsed
  let allocated = 0
  for (const { beforeGC, afterGC } of profiler.stop()?.statistics ?? []) {
    allocated += beforeGC.heapStatistics.usedHeapSize - before
    before = afterGC.heapStatistics.usedHeapSize
  }
  return allocated + after - before
}

/** Time of a long call in ms, over several runs after some that warm up. */
export async function msPerRun(run: () => unknown, runs: number, warmUp = Math.ceil(runs / 5)): Promise<Spread> {
  const times: number[] = []
  for (let i = -warmUp; i < runs; i++) {
    const start = performance.now()
    await run()
    if (i >= 0) times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  return { median: times[times.length >> 1] as number, worst: times.at(-1) as number }
}

/** Bytes that stay alive because of what `build` returns, typed arrays included. Needs `--expose-gc`. */
export function bytesKept(build: () => unknown): number {
  const before = bytesInUse()
  const kept = build()
  const after = bytesInUse()
  // Used after the measurement, so that it is alive during it.
  if (kept === undefined) throw new Error('nothing was built')
  return after - before
}

function bytesInUse(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('run with node --expose-gc')
  // Array buffers are freed by the collection after the one that found them dead.
  for (let i = 0; i < 3; i++) globalThis.gc()
}
