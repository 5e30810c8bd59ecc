/** What stands between the SDK and an exporter, to tell the host of what fails: the SDK tells nobody who has not asked. */

import type { TurnwatchProducer } from './metric-producer.ts'

type Report = (error: unknown) => void

interface ExportResult {
  code: number
  error?: Error
}

interface Exporter<T> {
  export(metrics: T, done: (result: ExportResult) => void): void
  forceFlush(): Promise<void>
  shutdown(): Promise<void>
}

/** One export at a time: if the next always began before the last is over, an idle process would never end. */
export class ReportingExporter<T> implements Exporter<T> {
  readonly #exporter: Exporter<T>
  readonly #report: Report
  #isExporting = false

  constructor(exporter: Exporter<T>, report: Report) {
    this.#exporter = exporter
    this.#report = report
  }

  export(metrics: T, done: (result: ExportResult) => void): void {
    if (this.#isExporting) {
      this.#report(new Error('the export before it is not over'))
      return done({ code: 0 })
    }
    this.#isExporting = true
    const over = (error?: unknown) => {
      this.#isExporting = false
      if (error !== undefined) this.#report(error)
      done({ code: 0 })
    }
    try {
      this.#exporter.export(metrics, ({ code, error }) => over(code === 0 ? undefined : (error ?? new Error())))
    } catch (error) {
      over(error)
    }
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}

/** The SDK exports nothing of a watch that cannot be read, and says so to nobody. */
export function reportingProducer(producer: TurnwatchProducer, report: Report): TurnwatchProducer {
  return {
    async collect() {
      const produced = await producer.collect()
      for (const error of produced.errors) report(new Error(`the metrics could not be read: ${reasonOf(error)}`))
      return produced
    },
  }
}

/** Reports in one line, to stderr without `onError`. */
export function reporter(onError: ((fault: Error) => void) | undefined): Report {
  return (error) => {
    const fault = new Error(`turnwatch: otlp: nothing was exported: ${reasonOf(error)}`)
    try {
      if (onError) onError(fault)
      else process.stderr.write(`${fault.message}\n`)
    } catch {
      // A broken onError has nobody left to tell.
    }
  }
}

/** What a receiver says, and what a system says of an address, may hold what no log should: a status or a code will do. */
function reasonOf(error: unknown): string {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  if (typeof code === 'number') return `status ${code}`
  if (typeof code === 'string') return code
  // The exporter's own words.
  return typeof message === 'string' && message !== '' ? (message.split('\n')[0] as string) : 'no reason given'
}
