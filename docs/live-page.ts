/**
 * Takes the picture of the live page: a dozen turns on a clock that stands still, served and opened in Chromium.
 * Run `node docs/live-page.ts`; it writes docs/live-page.png and docs/live-page-dark.png.
 */

import { fileURLToPath } from 'node:url'
import { VirtualHost } from '../hosts/replay/virtual-host.ts'
import type { TurnEvent } from '../instrumentation/events.ts'
import { serveLiveness } from '../liveness/index.ts'
import { launchChromium } from '../tests/setup/chromium.ts'
import { createTurnwatch } from '../turnwatch.ts'

const END_MS = 3_600_000
const host = new VirtualHost({ wallBaseMs: Date.parse('2026-03-12T13:30:00Z') })
const notify = { channels: [() => {}], isManagedElsewhere: () => false }
const watch = createTurnwatch({ clock: host.clock, notify })
const agenda: { due: number; act: () => void }[] = []

function at(secondsAgo: number, threadId: string, event: TurnEvent): void {
  agenda.push({ due: END_MS - secondsAgo * 1000, act: () => watch.observe(threadId, event) })
}

/** A turn that has streamed every two seconds from its start to `quietFor` seconds ago. */
function streaming(threadId: string, provider: string, model: string, startedAgo: number, quietFor: number): void {
  at(startedAgo, threadId, { kind: 'turn.started', turn: `turn-${startedAgo}`, provider, model })
  for (let ago = startedAgo - 3; ago > quietFor; ago -= 2) at(ago, threadId, { kind: 'token', stream: 'text' })
  if (quietFor < startedAgo - 3) at(quietFor, threadId, { kind: 'token', stream: 'text' })
}

const [CLAUDE, CODEX, OPENCODE] = ['claudeAgent', 'codex', 'opencode'] as const
const OPUS = 'claude-opus-4-6'
const SONNET = 'claude-sonnet-4-5'
const GPT = 'gpt-5.2-codex'

watch.learn(
  Array.from({ length: 26 }, (_, i) => ({
    id: `stats/earlier/${i}`,
    provider: CODEX,
    model: GPT,
    outcome: 'completed',
    timeToFirstTokenMs: 9000 + i * 120,
    maxGapMs: 30_000 + i * 800,
    eventCount: 400,
  })),
)

streaming('sub.release-notes.changelog', CLAUDE, SONNET, 612, 141.4)
streaming('release-notes', CLAUDE, OPUS, 655, 620)
at(618, 'release-notes', { kind: 'wait.started', id: 'w1', reason: 'subagent' })

streaming('sub.orders-migration.backfill', CODEX, GPT, 402, 96)
at(94, 'sub.orders-migration.backfill', { kind: 'tool.started', id: 'c1', name: 'shell' })
at(38.2, 'sub.orders-migration.backfill', { kind: 'exit', code: 137 })
streaming('orders-migration', CODEX, GPT, 880, 410)
at(408, 'orders-migration', { kind: 'tool.started', id: 'c2', name: 'spawn_agent' })

streaming('sub.orders-migration.schema', CODEX, GPT, 300, 84.6)
streaming('flaky-login-test', OPENCODE, 'anthropic/claude-sonnet-4-5', 97, 97)
streaming('docs-api-reference', OPENCODE, 'openai/gpt-5.2', 240, 34.7)
streaming('payments-refactor', CLAUDE, OPUS, 1284, 12.3)
streaming('sub.payments-refactor.review', CLAUDE, SONNET, 75, 1.4)
streaming('dark-mode', CODEX, GPT, 318, 0.8)

streaming('upgrade-node-24', CLAUDE, SONNET, 540, 190)
at(187, 'upgrade-node-24', { kind: 'tool.started', id: 'b1', name: 'Bash' })
streaming('delete-stale-branches', CODEX, GPT, 366, 150)
at(148, 'delete-stale-branches', { kind: 'wait.started', id: 'a1', reason: 'approval' })
at(6, 'triage-inbox', { kind: 'turn.requested' })

host.schedule(agenda)
host.run(END_MS, () => watch.tick())

const server = await serveLiveness(watch, { port: 0 })
const browser = await launchChromium()
// As high as its rows, because those below the fold are not drawn.
const page = await browser.newPage({ viewport: { width: 1200, height: 1010 }, timezoneId: 'UTC', locale: 'en-GB' })
await page.goto(server.url)
await page.locator('#turns > li').first().waitFor()
await page.screenshot({ path: fileURLToPath(new URL('./live-page.png', import.meta.url)), animations: 'disabled' })
await browser.close()
await server.close()
