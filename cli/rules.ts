/** `turnwatch rules`: the Prometheus rules, with knobs. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { BadInput } from '../bad-input.ts'
import {
  ALERTS_FILE,
  alertGroups,
  changesLost,
  crdFile,
  crdOf,
  packFiles,
  plainFile,
  recordingGroups,
} from '../rules/files.ts'
import { makePack, PACK_KNOBS_HELP, type Pack } from '../rules/pack.ts'
import { collected, file } from './options.ts'
import { writeInto } from './out-folder.ts'

interface Options {
  readonly set?: readonly string[]
  readonly disable?: readonly string[]
  readonly enable?: readonly string[]
  readonly format?: 'plain' | 'crd'
  readonly out?: string
  readonly replace?: true
  readonly list?: true
  readonly json?: true
}

export function rulesCommand(): Command {
  return new Command('rules')
    .summary('Print the Prometheus rules, with the knobs that are set.')
    .description(
      'Print the recording and alerting rules for Prometheus 2.42 and later, with the knobs that are set.\n' +
        '--list shows every alert with its knobs, and the knobs of the whole pack, each with when to change it.',
    )
    .option(
      '--set <knob>',
      'Alert.knob=value, such as TurnStale.for=2m, or knob=value for the pack; repeatable',
      collected,
    )
    .option('--disable <alert>', 'leave an alert out; repeatable', collected)
    .option('--enable <alert>', 'take an alert in that is off by default; repeatable', collected)
    .addOption(
      new Option('--format <format>', 'one rule file, or one PrometheusRule of the operator (default: plain)').choices([
        'plain',
        'crd',
      ]),
    )
    .option(
      '--out <folder>',
      'write the files there instead: turnwatch-recording.yaml, turnwatch-alerts.yaml, kubernetes/',
      file,
    )
    .option('--replace', 'write them though those that are there were made with knobs that are not set now')
    .option('--list', 'print the alerts and their knobs')
    .option(
      '--json',
      'print JSON: the rules, or with --list {"alert", "group", "enabled", "knobs", "help", "summary"} lines',
    )
    .action(run)
}

function run({ format, out, replace, list, json, ...changes }: Options): void {
  const pack = makePack(changes)
  if (replace && out === undefined) throw new BadInput('rules: --replace goes with --out')
  if (out !== undefined) {
    if (list || json || format)
      throw new BadInput('rules: --out writes every file; it goes with none of --format, --list, --json')
    if (!replace) keepChanges(out, pack)
    writeInto(out, packFiles(pack))
  } else if (list) process.stdout.write(json ? listLines(pack) : listText(pack))
  else if (json) {
    const rules = format === 'crd' ? crdOf(pack) : { groups: [...recordingGroups(pack), ...alertGroups(pack)] }
    process.stdout.write(`${JSON.stringify(rules)}\n`)
  } else process.stdout.write(format === 'crd' ? crdFile(pack) : plainFile(pack))
}

/** Throws BadInput when the files that are there have knobs which this pack would undo without a word. */
function keepChanges(folder: string, pack: Pack): void {
  const lost = changesLost(textOf(join(folder, ALERTS_FILE)), pack)
  if (lost.length === 0) return
  throw new BadInput(
    `--out ${folder}: ${ALERTS_FILE} there was made with ${lost.join(' ')}: repeat them, or add --replace`,
  )
}

/** Empty for a file that cannot be read: whether it can be written is then found out. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function listLines({ alerts }: Pack): string {
  return alerts
    .map(({ alert: { name, group, summary, knobs: own }, enabled, knobs }) => {
      const help = Object.fromEntries(Object.entries(own).map(([knob, definition]) => [knob, definition.help]))
      return `${JSON.stringify({ alert: name, group, enabled, knobs, help, summary })}\n`
    })
    .join('')
}

function listText({ alerts, knobs: packKnobs }: Pack): string {
  const pack = Object.entries(PACK_KNOBS_HELP).map(([knob, help]) => {
    return knobLine(`${knob}=${packKnobs[knob as keyof typeof packKnobs].replaceAll(', ', ',')}`, help, 44)
  })
  const lines = alerts.flatMap(({ alert, enabled, knobs: { severity, for: wait, ...own } }) => [
    `\n  ${alert.name}${enabled ? '' : ' (off)'}: ${alert.summary}\n`,
    `    severity=${severity} for=${wait}\n`,
    ...Object.entries(own).map(([knob, value]) => {
      return knobLine(`  ${knob}=${value}`, alert.knobs[knob]?.help ?? '', 20)
    }),
  ])
  return [
    'Knobs of the pack, --set knob=value:\n',
    ...pack,
    '\nAlerts with their knobs, --set Alert.knob=value. severity is critical (pages), warning (a ticket) or info;\n',
    'for is how long it must hold before it fires. Limits in seconds are plain numbers, shares go from 0 to below 1.\n',
    ...lines,
  ].join('')
}

function knobLine(knob: string, help: string, width: number): string {
  return `  ${knob.padEnd(width)}  ${help}.\n`
}
