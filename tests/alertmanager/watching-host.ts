/** A host on the real clock whose watch tells an Alertmanager, twice a second instead of once a minute. */

import { alertmanagerChannel } from '../../notifier/channels/alertmanager.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { createTurnwatch, type TurnHandle, type Turnwatch } from '../../turnwatch.ts'

/** After a crash, how long the next process waits before it takes over what the dead one told. */
const LEASE_MS = 1000
const REPEAT_MS = 500
const THRESHOLD_MS = 400
const TICK_MS = 100

export interface Model {
  readonly provider: string
  readonly model?: string
}

export class WatchingHost {
  readonly watch: Turnwatch
  readonly faults: string[] = []
  readonly #timer: NodeJS.Timeout

  constructor(alertmanagerUrl: string, storeFile: string) {
    const channel = alertmanagerChannel({ url: alertmanagerUrl, labels: { severity: 'warning' } })
    this.watch = createTurnwatch({
      store: sqliteStore(storeFile),
      thresholds: { firstTokenMs: THRESHOLD_MS, midStreamMs: THRESHOLD_MS, afterToolMs: THRESHOLD_MS },
      notify: { channels: [{ ...channel, repeatMs: REPEAT_MS }], leaseMs: LEASE_MS },
      onError: ({ message }) => this.faults.push(message),
    })
    this.#timer = setInterval(() => this.watch.tick(), TICK_MS)
  }

  /** Starts a turn that has said something, and says no more. */
  silentTurn(threadId: string, model: Model): TurnHandle {
    const turn = this.watch.startTurn({ threadId, turnId: 'turn-1', ...model })
    turn.observe({ kind: 'token', stream: 'text' })
    return turn
  }

  /** Finds the same turn running after a restart. */
  restoredTurn(threadId: string, model: Model): TurnHandle {
    const turn = this.watch.startTurn({ threadId, turnId: 'turn-1', ...model })
    turn.observe({ kind: 'turn.restored' })
    return turn
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.watch.stop()
  }

  /** Nothing is finished, written or released any more. */
  crash(): void {
    clearInterval(this.#timer)
  }
}

/** The turn recovers, and does not fall silent again. */
export function goOn(turn: TurnHandle): void {
  turn.observe({ kind: 'token', stream: 'text' })
  turn.observe({ kind: 'tool.started', id: 'tool-1' })
}
