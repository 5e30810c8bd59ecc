/** Turns that fall silent: one that goes on later, and most of a provider's. */

import { nameOf } from '../alert-log.ts'
import { CODEX, type Scene, SONNET, silence, timing, turnStale } from '../scene.ts'

const thread = 'sub.boss.stalled'
const stale = turnStale('alpha', SONNET, 'silence')

export const stalled: Scene = {
  name: 'stalled',
  fires: [{ alert: stale, toldTo: 'tickets' }],
  notifies: [thread],
  async play(stage) {
    const since = await silence(stage.hosts.alpha, { thread, ...SONNET })
    return [await timing(stage, 'stalled', stale, since, thread)]
  },
}

export const recovered: Scene = {
  name: 'recovered',
  fires: [],
  notifies: [],
  async play({ hosts: { alpha }, log }) {
    const since = Date.now()
    alpha.tell({ do: 'stream', thread })
    const firedAt = await log.resolves(stale)
    const toldAt = await log.told(stale, 'resolved')
    return [{ scene: 'recovered', alert: `${stale} resolved`, since, notifiedAt: null, firedAt, toldAt }]
  },
}

const onAlpha = 'sub.boss.wide-alpha'
const onBeta = ['sub.boss.wide-beta-1', 'sub.boss.wide-beta-2', 'sub.boss.wide-beta-3'] as const
const provider = nameOf('ProviderStalled', { provider: CODEX.provider })
const many = nameOf('ManyTurnsStale', { host: 'beta' })
const staleOnAlpha = turnStale('alpha', CODEX, 'silence')
const staleOnBeta = turnStale('beta', CODEX, 'silence')

/** Four of the provider's turns on two hosts: told as the provider's stall, and as that of most turns of a host, not each. */
export const providerWide: Scene = {
  name: 'provider-wide stall',
  fires: [
    { alert: provider, toldTo: 'pages' },
    { alert: many, toldTo: 'pages' },
    { alert: staleOnAlpha, toldTo: null },
    { alert: staleOnBeta, toldTo: null },
  ],
  notifies: [onAlpha, ...onBeta],
  async play(stage) {
    const { log } = stage
    const { alpha, beta } = stage.hosts
    const [since] = await Promise.all([
      silence(alpha, { thread: onAlpha, ...CODEX }),
      ...onBeta.map((one) => silence(beta, { thread: one, ...CODEX })),
    ])
    const timings = [
      await timing(stage, 'provider-wide stall', provider, since, onAlpha),
      await timing(stage, 'provider-wide stall', many, since, onBeta[0]),
    ]
    for (const alert of [staleOnAlpha, staleOnBeta]) await log.fires(alert)
    alpha.tell({ do: 'stream', thread: onAlpha })
    await log.resolves(staleOnAlpha)
    // All at once, so that none is left for which the provider's alert no longer speaks.
    for (const one of onBeta) beta.tell({ do: 'stream', thread: one })
    for (const alert of [staleOnBeta, many, provider]) await log.resolves(alert)
    for (const alert of [many, provider]) await log.told(alert, 'resolved')
    return timings
  },
}
