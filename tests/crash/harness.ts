/**
 * The crash harness: kills hosts at random points between verdict, write, send and mark, real ones with SIGKILL and virtual
 * ones in a worker, and holds what arrived against what happened. Exits with 1 when a message was lost or doubled.
 *
 * `--long` does more, `--seed N` draws the same again as far as real processes allow, `--kills N` and `--virtual N` say how
 * many, `--sabotage NAME` puts a fault in that the accounts must find.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Chance } from './chance.ts'
import { fillCompileCache, killAll } from './host-process.ts'
import { inOneFile, SOURCE } from './host-program.ts'
import { SABOTAGES, type Sabotage } from './kill-points.ts'
import { NO_OUTCOME, type Outcome, sumOf } from './outcome.ts'
import type { ChainSettings } from './real-chain.ts'
import { Receiver } from './receiver.ts'
import type { VirtualOptions } from './virtual.ts'

/** Chains that run at a time, and their share of the kills. */
const CHAINS: readonly (Pick<ChainSettings, 'hosts' | 'channels' | 'options'> & { readonly share: number })[] = [
  { share: 1 / 4, hosts: 1, channels: ['hook'], options: {} },
  { share: 1 / 4, hosts: 1, channels: ['hook', 'pager'], options: { whenOver: 'say', recovered: true } },
  { share: 1 / 2, hosts: 2, channels: ['hook'], options: { groupMs: 300 } },
]
/** A store of more kills would only be longer. */
const KILLS_AT_A_TIME = 200
/** From so many on it is worth making the program of a host one file. */
const MANY_KILLS = 50
const SHOWN = 20
const DEADLINE_MS = 600_000
const LONG_DEADLINE_MS = 3_600_000

const { values } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    seed: { type: 'string' },
    kills: { type: 'string' },
    virtual: { type: 'string' },
    sabotage: { type: 'string' },
  },
})
const kills = numberOf('kills', values.kills) ?? (values.long ? 10 : 1) * KILLS_AT_A_TIME
const virtualKills = numberOf('virtual', values.virtual) ?? (values.long ? 30_000 : 2000)
const seed = numberOf('seed', values.seed) ?? Math.floor(Math.random() * 2 ** 32)
const sabotage = sabotageOf(values.sabotage)

const folder = mkdtempSync(join(tmpdir(), 'turnwatch-crash-'))
process.on('exit', () => {
  killAll()
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))

setTimeout(
  () => {
    console.error('not at its end in time')
    process.exit(1)
  },
  values.long ? LONG_DEADLINE_MS : DEADLINE_MS,
).unref()

function numberOf(option: string, text: string | undefined): number | null {
  if (text === undefined) return null
  const value = Number(text)
  if (Number.isInteger(value) && value >= 0) return value
  console.error(`--${option}: ${JSON.stringify(text)} is not a whole number`)
  return process.exit(2)
}

function sabotageOf(text: string | undefined): Sabotage | null {
  if (text === undefined) return null
  const known = SABOTAGES.find((name) => name === text)
  if (known !== undefined) return known
  console.error(`--sabotage: ${JSON.stringify(text)} is none of ${SABOTAGES.join(', ')}`)
  return process.exit(2)
}

async function realKills(chance: Chance): Promise<Outcome> {
  if (kills === 0) return NO_OUTCOME
  // It brings the package's own webhook, which takes longer to load than all the rest.
  const { RealChain } = await import('./real-chain.ts')
  const compileCache = join(folder, 'compile-cache')
  const fast = kills < MANY_KILLS ? SOURCE : await inOneFile(folder)
  await fillCompileCache({ fast, compileCache })
  const receiver = new Receiver()
  await receiver.listen()
  const outcomes: Outcome[] = []
  for (let left = kills, round = 0; left > 0; left -= KILLS_AT_A_TIME, round++) {
    const chains = CHAINS.map(({ share, ...settings }, i) => {
      const name = `${'xyz'[i]}${round}`
      const chain = new RealChain({
        ...settings,
        name,
        folder,
        programs: { fast, compileCache },
        receiver,
        chance: new Chance(chance.seed()),
        sabotage,
      })
      return chain.run(Math.ceil(Math.min(left, KILLS_AT_A_TIME) * share))
    })
    outcomes.push(...(await Promise.all(chains)))
  }
  receiver.close()
  return sumOf(outcomes)
}

function killsInWorker(options: VirtualOptions): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./virtual.ts', import.meta.url), { workerData: options })
    worker.on('message', resolve)
    worker.on('error', reject)
  })
}

function show(what: string, { figures, killedAt }: Outcome): void {
  const { kills, arrived, again, takenOver } = figures
  const messages = `${arrived} messages arrived, ${again} came again with the same key, ${takenOver} from a live neighbour`
  const places = Object.entries(killedAt).sort(([, a], [, b]) => b - a)
  console.log(`${what}: ${kills} kills; ${messages}`)
  console.log(`  killed ${places.map(([place, count]) => `${place} ${count}`).join(', ')}`)
}

console.log(`seed ${seed}`)
const chance = new Chance(seed)
const [virtual, real] = await Promise.all([
  virtualKills === 0 ? NO_OUTCOME : killsInWorker({ kills: virtualKills, seed: chance.seed(), folder, sabotage }),
  realKills(new Chance(chance.seed())),
])
if (kills > 0) show('real', real)
if (virtualKills > 0) show('virtual', virtual)
const all = sumOf([real, virtual])
const idle = all.figures.arrived === 0 ? ['no message arrived'] : []
for (const line of [...idle, ...all.faults, ...all.lost, ...all.doubled].slice(0, SHOWN)) console.log(line)
console.log(`lost ${all.lost.length}, doubled ${all.doubled.length}, of ${all.figures.kills} kills`)
process.exitCode = all.lost.length + all.doubled.length + all.faults.length + idle.length > 0 ? 1 : 0
