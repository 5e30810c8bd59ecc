/** The answers of a Prometheus that dashboards ask for. */

export interface Series {
  readonly labels: Readonly<Record<string, string>>
  /** Epoch ms and value. */
  readonly points: readonly (readonly [number, number])[]
}

export class PrometheusApi {
  readonly #url: string

  constructor(url: string) {
    this.#url = url.replace(/\/+$/, '')
  }

  /** The value of every series at a moment. Throws what Prometheus says of a query that it refuses. */
  async instant(query: string, atMs: number): Promise<Series[]> {
    const { result, resultType } = (await this.#ask('query', { query, time: atMs / 1000 })) as Answer
    if (resultType === 'scalar') return [{ labels: {}, points: [point(result as unknown as Sample)] }]
    return result.map(({ metric, value }) => ({ labels: metric, points: [point(value as Sample)] }))
  }

  /** The values of every series between two moments, both on the step's grid. */
  async range(query: string, fromMs: number, toMs: number, stepMs: number): Promise<Series[]> {
    const start = Math.floor(fromMs / stepMs) * stepMs
    const end = Math.floor(toMs / stepMs) * stepMs
    const asked = { query, start: start / 1000, end: end / 1000, step: stepMs / 1000 }
    const { result } = (await this.#ask('query_range', asked)) as Answer
    return result.map(({ metric, values }) => ({ labels: metric, points: (values as Sample[]).map(point) }))
  }

  /** Every value of a label among the series of a selector, in order of the alphabet. */
  async labelValues(label: string, selector: string | null, fromMs: number, toMs: number): Promise<string[]> {
    const asked = { start: fromMs / 1000, end: toMs / 1000, ...(selector === null ? {} : { 'match[]': selector }) }
    return (await this.#ask(`label/${label}/values`, asked)) as string[]
  }

  async #ask(path: string, asked: Record<string, string | number>): Promise<unknown> {
    const query = new URLSearchParams(
      Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const response = await fetch(`${this.#url}/api/v1/${path}?${query}`)
    const answer = (await response.json()) as { status: string; data: unknown; error?: string }
    if (answer.status !== 'success') throw new Error(`${answer.error} in ${asked.query ?? asked['match[]']}`)
    return answer.data
  }
}

type Sample = [number, string]

interface Answer {
  resultType: string
  result: { metric: Record<string, string>; value?: Sample; values?: Sample[] }[]
}

function point([seconds, value]: Sample): [number, number] {
  return [Math.round(seconds * 1000), numberOf(value)]
}

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY
  if (text === '-Inf') return Number.NEGATIVE_INFINITY
  return Number(text)
}
