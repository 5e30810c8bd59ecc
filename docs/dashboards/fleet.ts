/** Three hosts on virtual clocks, each with a watch and agents at work, scraped every 15 s. */

import { setImmediate } from 'node:timers/promises'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import { type Channel, createTurnwatch, type Turnwatch } from '../../index.ts'
import { writeMetrics } from '../../liveness/metrics-text.ts'
import { DeliveryFailed } from '../../notifier/index.ts'
import { scriptedTurns } from './scripted-turns.ts'
import { isWithin, type Story, seeded } from './story.ts'
import { type Script, type Stage, turn } from './turns.ts'

export const SCRAPE_MS = 15_000
const SECOND_MS = 1000

/** What a scrape of a host found. */
export interface Scrape {
  readonly instance: string
  readonly atMs: number
  /** Null where the host did not answer. */
  readonly text: string | null
}

interface Kind {
  readonly provider: string
  readonly model: string
}

const OPUS: Kind = { provider: 'claudeAgent', model: 'claude-opus-4-6' }
const SONNET: Kind = { provider: 'claudeAgent', model: 'claude-sonnet-4-5' }
const CODEX: Kind = { provider: 'codex', model: 'gpt-5.2-codex' }
const HAIKU: Kind = { provider: 'claudeAgent', model: 'claude-haiku-4-5' }
const OPENCODE: Kind = { provider: 'opencode', model: 'openai/gpt-5.2' }

/** By host: the threads that it works on, each with the models that it uses in turn. */
const HOSTS: Readonly<Record<string, Readonly<Record<string, readonly Kind[]>>>> = {
  'build-1': {
    'invoice-export': [SONNET, OPUS],
    'flaky-login-test': [CODEX],
    'docs-api-reference': [OPENCODE],
    'upgrade-node-24': [SONNET],
    'release-notes': [OPUS],
  },
  'build-2': {
    'search-index': [CODEX],
    'audit-log': [SONNET],
    'webhook-retries': [OPENCODE, CODEX],
    'dark-mode': [OPUS],
  },
  'laptop-ana': {
    'triage-inbox': [SONNET],
    'slow-query': [CODEX],
    'onboarding-tour': [OPENCODE],
  },
}
const PORT = 9464
/** The thread whose work goes to the new model. */
const NEW_MODEL_THREAD = 'triage-inbox'
const NEWER_CLI_HOST = 'laptop-ana'
/** Before an upgrade. */
const OLD_VERSION = '0.0.9'

/** Runs the story, and gives every scrape of every host in order of time. */
export async function* runFleet(story: Story): AsyncGenerator<Scrape> {
  const hosts = Object.keys(HOSTS).map((name, i) => new FleetHost(name, story, story.seed + i, 0))
  for (let nowMs = SECOND_MS; nowMs <= story.lengthMs; nowMs += SECOND_MS) {
    for (const [i, host] of hosts.entries()) {
      if (story.upgrades[host.name] === nowMs) hosts[i] = new FleetHost(host.name, story, 100 + i, nowMs)
      else host.runTo(nowMs)
    }
    // What the notifiers have put off until the event loop is free.
    await setImmediate()
    if (nowMs % SCRAPE_MS !== 0) continue
    for (const host of hosts) yield host.scrape(nowMs)
  }
}

class FleetHost {
  readonly name: string
  readonly #story: Story
  readonly #host: VirtualHost
  readonly #isOld: boolean
  readonly #watch: Turnwatch
  readonly #random: () => number
  #slept = false
  readonly #stage: Stage = {
    random: () => this.#random(),
    standsStillMs: (provider) => {
      const { stall } = this.#story
      return provider === stall.provider && isWithin(this.#host.now, stall) ? stall.toMs - this.#host.now : 0
    },
    observe: (threadId, event) => this.#watch.observe(threadId, event),
  }

  constructor(name: string, story: Story, seed: number, startMs: number) {
    this.name = name
    this.#story = story
    this.#random = seeded(seed)
    this.#isOld = startMs === 0
    this.#host = new VirtualHost({ startMs, wallBaseMs: story.endMs - story.lengthMs, timersLateMs: 4 })
    this.#watch = createTurnwatch({
      clock: this.#host.clock,
      onError: () => {},
      notify: {
        channels: [
          { ...this.#channel('parent-thread', () => true), needsParent: true },
          this.#channel('webhook', () => !this.#webhookFails()),
        ],
        whenOver: 'say',
        isManagedElsewhere: () => false,
      },
    })
    for (const kind of [OPUS, SONNET, CODEX, OPENCODE]) this.#watch.learn(earlier(kind, this.#random))
    for (const [thread, kinds] of Object.entries(HOSTS[name] ?? {})) this.#play(this.#work(thread, kinds))
    for (const { host, startMs: at, script } of scriptedTurns(story)) {
      const isMine = host === name && (startMs > 0 || story.upgrades[name] === undefined)
      if (isMine) this.#host.after(at - startMs, () => this.#play(script(this.#stage)))
    }
    this.#play(this.#oddities())
  }

  runTo(nowMs: number): void {
    const { suspend } = this.#story
    if (suspend.host === this.name && !this.#slept && nowMs > suspend.fromMs) {
      this.#slept = true
      this.#host.sleep(suspend.toMs, true)
    }
    if (nowMs >= this.#host.now) this.#host.run(nowMs, () => this.#watch.tick())
  }

  async scrape(nowMs: number): Promise<Scrape> {
    const at = { instance: `${this.name}:${PORT}`, atMs: this.#story.endMs - this.#story.lengthMs + nowMs }
    const { suspend } = this.#story
    if (suspend.host === this.name && isWithin(nowMs, suspend)) return { ...at, text: null }
    const { text } = await writeMetrics(this.#watch.metrics(), false)
    return { ...at, text: this.#isOld ? text.replace(/\bversion="[^"]+"/, `version="${OLD_VERSION}"`) : text }
  }

  /** One turn after another, with some rest between. */
  *#work(thread: string, kinds: readonly Kind[]): Script {
    yield this.#random() * 60_000
    for (let count = 1; ; count++) {
      const isNew = thread === NEW_MODEL_THREAD && this.#host.now >= this.#story.newModelMs
      const kind = isNew ? HAIKU : (kinds[count % kinds.length] as Kind)
      yield* turn(this.#stage, { thread, turn: `turn-${count}`, ...kind }, 2 + Math.floor(this.#random() * 6))
      yield 10_000 + this.#random() * 80_000
    }
  }

  /** What happens now and then: a listener throws; and the CLI on one host is newer than what is known of it. */
  *#oddities(): Script {
    for (;;) {
      yield 240_000 + this.#random() * 1_500_000
      if (this.name === NEWER_CLI_HOST) this.#watch.unclassified('codex-exec', 'item.plan_draft')
      else this.#watch.hostFault(new Error('a listener threw'))
    }
  }

  #play(script: Script): void {
    const { value, done } = script.next()
    if (!done) this.#host.after(value, () => this.#play(script))
  }

  #webhookFails(): boolean {
    return isWithin(this.#host.now, this.#story.webhookFails)
  }

  #channel(name: string, works: () => boolean): Channel {
    return {
      name,
      deliver: () =>
        new Promise((resolve, reject) => {
          const answer = () => (works() ? resolve() : reject(new DeliveryFailed('server_error', 'HTTP 503')))
          this.#host.after(80 + this.#random() * 700, answer)
        }),
    }
  }
}

/** What a host has learned on the days before. */
function earlier({ provider, model }: Kind, random: () => number) {
  return Array.from({ length: 40 }, (_, i) => ({
    id: `stats/earlier/${model}/${i}`,
    provider,
    model,
    outcome: 'completed',
    timeToFirstTokenMs: 9000 + random() * 34_000,
    maxGapMs: 20_000 + random() * 38_000,
    eventCount: 400,
  }))
}
