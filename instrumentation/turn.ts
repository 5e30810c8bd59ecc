/** One running turn: who it is, what it has open, and its row in the turn clock. */

import type { Usage, WaitReason } from './events.ts'

export interface OpenTool {
  readonly id: string
  readonly name: string | null
  /** For people; the name where the wire has no title. */
  readonly title: string | null
  readonly startedWallMs: number
  /** Observed ms. */
  readonly startedAt: number
}

export interface OpenWait {
  readonly id: string
  readonly reason: WaitReason
  readonly sinceWallMs: number
  /** Observed ms. */
  readonly since: number
  /** Observed ms at which a retry wait ends by itself; null when it does not. */
  readonly endsAt: number | null
}

/** Everything that a turn has open. Most turns never have anything open, so it is made on demand. */
export class OpenWork {
  readonly tools = new Map<string, OpenTool>()
  readonly waits = new Map<string, OpenWait>()
  /** Waits for a retry, and waits that do not cover a model call. */
  retryWaits = 0
  softWaits = 0
  /** Whether the wire shows a model call begun and not ended. */
  inModelCall = false
}

export interface TurnIdentity {
  readonly threadId: string
  readonly turnId: string
  readonly provider: string
  readonly model: string | null
  readonly parentThreadId: string | null
}

export class Turn implements TurnIdentity {
  /** Row in the turn clock; -1 once the turn has ended. */
  slot: number
  threadId: string
  turnId: string
  provider: string
  model: string | null
  parentThreadId: string | null
  /** Null before anything was opened. */
  open: OpenWork | null = null
  /** Whether the wire gave the id; one that we made up gives way to the first that the wire names. */
  named: boolean
  usage: Usage | null = null
  lastEventKind = 'turn.started'
  lastProgressKind = 'turn.started'

  constructor(slot: number, identity: TurnIdentity, named: boolean) {
    this.slot = slot
    this.threadId = identity.threadId
    this.turnId = identity.turnId
    this.provider = identity.provider
    this.model = identity.model
    this.parentThreadId = identity.parentThreadId
    this.named = named
  }

  /** Takes the id that the wire gives the turn. */
  adopt(turnId: string): void {
    this.turnId = turnId
    this.named = true
  }

  /** What is open, made if nothing was. */
  work(): OpenWork {
    this.open ??= new OpenWork()
    return this.open
  }

  /** The tool that is open longest, or null. */
  oldestTool(): OpenTool | null {
    return this.open?.tools.values().next().value ?? null
  }

  /** The wait that is open longest, or null. */
  oldestWait(): OpenWait | null {
    return this.open?.waits.values().next().value ?? null
  }
}
