/** What runs, waits and is stale now: the sums over the running turns, and the turns themselves for their series. */

import { WAIT_REASONS, type WaitReason } from '../events.ts'
import type { Turn } from '../turn.ts'
import type { StaleReason } from '../turn-counters.ts'
import { STALE_REASONS } from '../turn-counters.ts'
import type { Families } from './families.ts'
import { RUNNING_STATES, type THREAD_STATES } from './label-values.ts'
import type { Measured, MeasuredHost } from './measured.ts'
import type { ModelGroup } from './model-groups.ts'
import type { ModelLabels, RunningState } from './model-labels.ts'

/** A running turn as its thread's series show it. */
export interface RunningTurn {
  readonly turn: Turn
  readonly labels: ModelLabels
  readonly state: (typeof THREAD_STATES)[number]
  readonly silenceMs: number
  readonly thresholdMs: number
}

class RunningModel {
  readonly labels: ModelLabels
  readonly states: Record<RunningState, number> = {
    'first-token': 0,
    'after-tool': 0,
    'mid-stream': 0,
    tool: 0,
    waiting: 0,
  }
  readonly stale: Record<StaleReason, number> = { silence: 0, 'provider-dead': 0, 'provider-error': 0 }
  silenceMs = 0
  toolMs = 0

  constructor(labels: ModelLabels) {
    this.labels = labels
  }
}

type Waiting = Record<WaitReason, { turns: number; longestMs: number }>

export function collectRunning(
  detector: Measured,
  families: Families,
  groups: readonly ModelGroup[],
  host: MeasuredHost,
): RunningTurn[] {
  const { turns, time } = detector
  const models = groups.map(({ labels }) => new RunningModel(labels))
  const modelOf = new Map(groups.flatMap(({ keys }, i) => keys.map((key) => [key, models[i] as RunningModel])))
  const waiting = Object.fromEntries(WAIT_REASONS.map((reason) => [reason, { turns: 0, longestMs: 0 }])) as Waiting
  const running: RunningTurn[] = []
  let interrupts = 0
  for (const turn of turns.turns) {
    if (turn === undefined) continue
    const model = modelOf.get(turns.keyAt(turn.slot)) as RunningModel
    const silenceMs = turns.silenceMs(turn.slot)
    const coveredBy = turns.coveredBy(turn)
    model.states[coveredBy ?? turns.phaseOf(turn.slot)]++
    model.silenceMs = Math.max(model.silenceMs, silenceMs)
    const tool = turn.oldestTool()
    if (tool) model.toolMs = Math.max(model.toolMs, time.now - tool.startedAt)
    const episode = detector.episodeOf(turn)
    if (episode) model.stale[episode.reason]++
    if (detector.interruptRequested(turn)) interrupts++
    countWaits(turn, time.now, waiting)
    const verdict = detector.stateOf(turn)
    const state = verdict === 'running' ? (coveredBy ?? verdict) : verdict
    running.push({ turn, labels: model.labels, state, silenceMs, thresholdMs: detector.thresholdOf(turn).thresholdMs })
  }
  for (const model of models) addModel(families, model)
  for (const reason of WAIT_REASONS) {
    families.add('turns_waiting', waiting[reason].turns, { reason })
    families.add('wait_max_seconds', waiting[reason].longestMs / 1000, { reason })
  }
  families.add('turns_not_started', host.notStarted)
  families.add('interrupts_unsettled', interrupts)
  families.add('turns_unsettled', host.unsettled)
  return running
}

/** A turn with two waits of a reason is one turn that waits for it. */
function countWaits(turn: Turn, now: number, waiting: Waiting): void {
  if (turn.open === null || turn.open.waits.size === 0) return
  const reasons = new Set<WaitReason>()
  for (const { reason, since } of turn.open.waits.values()) {
    reasons.add(reason)
    waiting[reason].longestMs = Math.max(waiting[reason].longestMs, now - since)
  }
  for (const reason of reasons) waiting[reason].turns++
}

function addModel(families: Families, { labels, states, stale, silenceMs, toolMs }: RunningModel): void {
  for (const state of RUNNING_STATES) families.add('turns_running', states[state], labels.state[state])
  for (const reason of STALE_REASONS) families.add('turns_stale', stale[reason], labels.reason[reason])
  families.add('silence_max_seconds', silenceMs / 1000, labels.own)
  families.add('open_tool_max_seconds', toolMs / 1000, labels.own)
}
