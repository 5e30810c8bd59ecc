/** `turnwatch dashboards`: the Grafana dashboards, as files. They are in the package as built; nothing is generated here. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { BadInput } from '../bad-input.ts'
import { packageRoot } from '../package-root.ts'
import { file } from './options.ts'
import { writeInto } from './out-folder.ts'

interface Options {
  readonly out?: string
  readonly json?: true
}

interface Built {
  readonly uid: string
  readonly title: string
  readonly description: string
  /** Without the titles of rows. */
  readonly panels: number
  /** Name under the folder of the dashboards. */
  readonly file: string
}

export function dashboardsCommand(): Command {
  return new Command('dashboards')
    .summary('List the Grafana dashboards, or write their files.')
    .description(
      'List the Grafana dashboards, or write their files: JSON for Grafana 10 and later, and what provisions them.\n' +
        'They read a Prometheus that has the recording rules of `turnwatch rules`.',
    )
    .option('--out <folder>', 'write the files there: turnwatch-*.json, provisioning/', file)
    .option('--json', 'print {"uid", "title", "description", "panels", "file"} lines')
    .action(run)
}

function run({ out, json }: Options): void {
  if (out === undefined) {
    process.stdout.write(json ? lines() : text())
    return
  }
  if (json) throw new BadInput('dashboards: --out writes every file; it does not go with --json')
  const names = [...built().map((one) => one.file), ...provisioning()]
  writeInto(out, Object.fromEntries(names.map((name) => [name, readFileSync(join(folder(), name), 'utf8')])))
}

function folder(): string {
  return join(packageRoot(), 'dashboards')
}

function built(): Built[] {
  const names = readdirSync(folder()).filter((name) => /^turnwatch-.*\.json$/.test(name))
  return names.map((name) => {
    const { uid, title, description, panels } = JSON.parse(readFileSync(join(folder(), name), 'utf8')) as Omit<
      Built,
      'panels' | 'file'
    > & { readonly panels: readonly { readonly type: string }[] }
    return { uid, title, description, panels: panels.filter(({ type }) => type !== 'row').length, file: name }
  })
}

function provisioning(): string[] {
  const names = readdirSync(join(folder(), 'provisioning'), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.yaml')).map((name) => join('provisioning', name))
}

function lines(): string {
  return built()
    .map((one) => `${JSON.stringify(one)}\n`)
    .join('')
}

function text(): string {
  const all = built()
  const wide = (of: (one: Built) => string) => Math.max(...all.map((one) => of(one).length))
  const uid = wide((one) => one.uid)
  const title = wide((one) => one.title)
  const list = all.map(
    (one) =>
      `  ${one.uid.padEnd(uid)}  ${one.title.padEnd(title)}  ${`${one.panels}`.padStart(3)} panels  ${one.file}\n`,
  )
  return `Dashboards in ${folder()}:\n${list.join('')}To write their files: turnwatch dashboards --out <folder>\n`
}
