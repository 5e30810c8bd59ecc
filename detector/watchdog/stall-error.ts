/** The error of a stream whose deadline ran out. */

import { brand } from './brand.ts'
import type { DeadlineName } from './deadlines.ts'
import type { StallPhase } from './stream-book.ts'

/** Where the value of a deadline came from, such as `option`, `default` or `measured`. */
export type SettingSource = string

export interface StallFacts {
  readonly phase: StallPhase
  /** The deadline in ms, as it was set. */
  readonly timeoutMs: number
  /** Ms that were waited since the deadline was set off, on the clock that it is measured on; never less than `timeoutMs`. */
  readonly elapsedMs: number
  /** Whether content had been delivered, or a tool been called: then another try would say or do it twice. */
  readonly receivedAnyContent: boolean
  /** Events that were delivered, of every class. */
  readonly deliveredEvents: number
  /** Type of the last event that came; null before the first. */
  readonly lastEventType: string | null
  /** The option that set the deadline. */
  readonly setting: DeadlineName
  readonly settingSource: SettingSource
  /** Which try this was, from 1. */
  readonly attempt: number
}

/** A stream fell silent for longer than a deadline allows. */
export class StreamStalledError extends Error implements StallFacts {
  override readonly name = 'StreamStalledError'
  readonly phase: StallPhase
  readonly timeoutMs: number
  readonly elapsedMs: number
  readonly receivedAnyContent: boolean
  readonly deliveredEvents: number
  readonly lastEventType: string | null
  readonly setting: DeadlineName
  readonly settingSource: SettingSource
  readonly attempt: number

  constructor(facts: StallFacts) {
    super(messageOf(facts))
    this.phase = facts.phase
    this.timeoutMs = facts.timeoutMs
    this.elapsedMs = facts.elapsedMs
    this.receivedAnyContent = facts.receivedAnyContent
    this.deliveredEvents = facts.deliveredEvents
    this.lastEventType = facts.lastEventType
    this.setting = facts.setting
    this.settingSource = facts.settingSource
    this.attempt = facts.attempt
  }

  /** Whether the stream may be issued again: nothing of an answer has been seen. */
  get retryable(): boolean {
    return !this.receivedAnyContent
  }

  toJSON(): StallFacts & { name: string; message: string; retryable: boolean } {
    const { name, message, phase, timeoutMs, elapsedMs, receivedAnyContent, deliveredEvents, lastEventType } = this
    const { setting, settingSource, attempt, retryable } = this
    return {
      name,
      message,
      phase,
      timeoutMs,
      elapsedMs,
      receivedAnyContent,
      deliveredEvents,
      lastEventType,
      setting,
      settingSource,
      attempt,
      retryable,
    }
  }
}

brand(StreamStalledError, 'StreamStalledError')

const WAITED_FOR: Record<StallPhase, string> = {
  headers: 'no response',
  first_content: 'no content',
  between_content: 'no more content',
  liveness: 'nothing at all',
  total: 'no end',
}

function messageOf({ phase, timeoutMs, setting, settingSource, deliveredEvents, lastEventType, attempt }: StallFacts) {
  const where = settingSource === 'option' ? '' : `, ${settingSource}`
  const last = lastEventType === null ? '' : `, the last ${lastEventType}`
  const tries = attempt === 1 ? '' : ` in try ${attempt}`
  const events = `${deliveredEvents} ${deliveredEvents === 1 ? 'event' : 'events'}${last}`
  return `stream stalled: ${WAITED_FOR[phase]} within ${timeoutMs} ms (${setting}${where})${tries}, after ${events}`
}
