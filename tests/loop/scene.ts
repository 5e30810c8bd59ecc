/** What a scene is, and the steps that scenes are made of. */

import type { TurnEvent } from '../../index.ts'
import { nameOf } from './alert-log.ts'
import type { TurnPlan } from './host-orders.ts'
import type { LoopHost } from './loop-host.ts'
import type { Stage } from './stage.ts'
import { until } from './until.ts'

export const OPUS = { provider: 'claudeAgent', model: 'claude-opus-4-6' }
export const SONNET = { provider: 'claudeAgent', model: 'claude-sonnet-4-5' }
export const HAIKU = { provider: 'claudeAgent', model: 'claude-haiku-4-5' }
export const CODEX = { provider: 'codex', model: 'gpt-5.2-codex' }
export const OPENCODE = { provider: 'opencode', model: 'glm-4.7' }
export const GROK = { provider: 'grok', model: 'grok-code-fast-1' }
export const CURSOR = { provider: 'cursor', model: 'composer-2' }

export const TOKEN = { kind: 'token', stream: 'text' } as const satisfies TurnEvent

/** An alert that a scene brings about. */
export interface Expected {
  readonly alert: string
  /** The receiver that Alertmanager tells it; null where another alert inhibits it. */
  readonly toldTo: 'pages' | 'tickets' | 'notes' | null
  /** Goes on firing when the play is over, or fires again. */
  readonly mayFireAtEnd?: true
}

/** How long an alert took. Epoch ms. */
export interface Timing {
  readonly scene: string
  readonly alert: string
  /** When what it is about began, by the host's own stamps. */
  readonly since: number
  /** When the notifier's message arrived; null where there is none. */
  readonly notifiedAt: number | null
  /** When Prometheus fired it, and when Alertmanager told it. */
  readonly firedAt: number
  readonly toldAt: number
}

export interface Scene {
  readonly name: string
  readonly fires: readonly Expected[]
  /** Threads of whose turns the notifiers tell, each once. */
  readonly notifies: readonly string[]
  /** Resolves when nothing of it goes on that could disturb the next scene of its track. */
  play(stage: Stage): Promise<readonly Timing[]>
}

type Model = Pick<TurnPlan, 'provider' | 'model'>

export function turnStale(host: string, { provider, model }: Model, reason: string): string {
  return nameOf('TurnStale', { host, provider, model, reason })
}

/** A turn says a word, and no more. Resolves when it is stale, with the epoch ms at which it fell silent. */
export async function silence(host: LoopHost, turn: TurnPlan): Promise<number> {
  host.tell({ do: 'start', ...turn }, { do: 'observe', thread: turn.thread, event: TOKEN })
  const { at, silenceMs } = await host.stale(turn.thread)
  return at - silenceMs
}

/** Waits until the alert has fired and has been told. */
export async function timing(
  { log, parents }: Stage,
  scene: string,
  alert: string,
  since: number,
  thread?: string,
): Promise<Timing> {
  const firedAt = await log.fires(alert)
  const toldAt = await log.told(alert, 'firing')
  const message = parents.posts.find(({ body }) => body.thread === thread)
  return { scene, alert, since, notifiedAt: message?.at ?? null, firedAt, toldAt }
}

/** Until the expression has a result. */
export async function scraped({ prometheus }: Stage, expression: string): Promise<void> {
  await until(`${expression} is scraped`, async () => (await prometheus.values(expression)).length > 0)
}
