/** Reads samples back from classic Prometheus text, as far as the tests need it. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/s
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/gs

/** Every sample line; throws on a line that is none. */
export function samplesOf(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels = '', value] = LINE.exec(line) ?? []
      if (name === undefined) throw new Error(`no sample: ${line}`)
      const pairs = [...labels.matchAll(LABEL)].map(([, label, quoted]) => [label, unquote(quoted ?? '')])
      return { name, labels: Object.fromEntries(pairs), value: Number(value?.replace('Inf', 'Infinity')) }
    })
}

function unquote(quoted: string): string {
  return quoted.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
}
