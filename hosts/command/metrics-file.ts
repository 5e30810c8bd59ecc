/** The metrics in a file for node_exporter's textfile collector, always whole. */

import { existsSync, realpathSync, statSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { BadInput } from '../../bad-input.ts'
import { type MetricName, PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import type { Family } from '../../instrumentation/metrics/family.ts'
import { writeMetrics } from '../../liveness/metrics-text.ts'
import type { Turnwatch } from '../../turnwatch.ts'

const EVERY_MS = 15_000

/** What says that a detector is at work. In a file that outlives it, these would be a detector that has stopped. */
const ALIVE: ReadonlySet<string> = new Set(
  (['ticks_total', 'last_tick_timestamp_seconds', 'build_info'] satisfies MetricName[]).map((name) => PREFIX + name),
)

export interface MetricsFile {
  /** Writes a last time, without the metrics that say that a detector is at work. */
  close(): Promise<void>
}

/**
 * The file that a name stands for, which is replaced from then on: what a link points to, or the name itself when there
 * is none yet. Throws BadInput for what must not be replaced, such as a device, and where there is no folder for it.
 */
export function metricsTarget(name: string): string {
  const file = existsSync(name) ? realpathSync(name) : name
  const there = statSync(file, { throwIfNoEntry: false })
  if (there && !there.isFile()) throw new BadInput(`--metrics-file ${name}: not a regular file`)
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory()) {
    throw new BadInput(`--metrics-file ${name}: no such folder`)
  }
  return file
}

/** Writes the file now and every 15 s. `onFault` hears of the first time that it cannot be written. */
export function keepMetricsFile(watch: Turnwatch, file: string, onFault: (error: Error) => void): MetricsFile {
  let broken = false
  let last = Promise.resolve()
  const update = (families: () => readonly Family[]) => {
    last = last.then(async () => {
      try {
        await replaceFile(file, (await writeMetrics(families(), false)).text)
      } catch (error) {
        if (!broken) onFault(error as Error)
        broken = true
      }
    })
    return last
  }
  void update(() => watch.metrics())
  const timer = setInterval(() => update(() => watch.metrics()), EVERY_MS)
  timer.unref()
  return {
    close: () => {
      clearInterval(timer)
      return update(() => watch.metrics().filter(({ name }) => !ALIVE.has(name)))
    },
  }
}

/** In the same folder, so that the rename is one step; its name does not end as the collector's files do. */
async function replaceFile(file: string, text: string): Promise<void> {
  const beside = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`)
  try {
    await writeFile(beside, text)
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true }).catch(() => {})
    throw error
  }
}
