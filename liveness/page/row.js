/** One thread's row. */

import { clockTime, setText, span } from './text.js'

/** The bar ends at 1.5 times the threshold; its marks, at 1 and 1.25 times, stand in the style sheet. */
const BAR_END = 1.5
/** A threshold that is switched off comes as the largest safe integer. */
const OFF = Number.MAX_SAFE_INTEGER

/** `90 s`, `112.5 s`. */
const limit = (ms) => `${Number((ms / 1000).toFixed(1))} s`

export class Row {
  visible = true
  #parts
  #thread
  #readAt = 0
  #told = null

  constructor(element) {
    this.element = element
    const part = (name) => element.querySelector(`.${name}`)
    this.#parts = {
      badge: part('badge'),
      age: part('age'),
      thread: part('thread'),
      parent: part('parent'),
      parentId: part('parent-id'),
      model: part('model-name'),
      provider: part('provider'),
      meter: part('meter'),
      fill: part('fill'),
      seconds: part('seconds'),
      limit: part('limit'),
      what: part('what'),
      detail: part('detail'),
      lastAt: part('last-at'),
      ago: part('ago'),
      messages: part('messages'),
    }
  }

  /** Takes the thread as the server told it at `readAt` of this page's clock. */
  update(thread, readAt) {
    const { element } = this
    const parts = this.#parts
    this.#thread = thread
    this.#readAt = readAt
    if (element.dataset.state !== thread.state) element.dataset.state = thread.state
    element.dataset.reason = thread.reason ?? ''
    setText(parts.badge, thread.state)
    setText(parts.thread, thread.threadId)
    parts.thread.title = thread.turn?.turnId ? `${thread.threadId}\nturn ${thread.turn.turnId}` : thread.threadId
    parts.parent.hidden = thread.parentThreadId === null
    setText(parts.parentId, thread.parentThreadId ?? '')
    setText(parts.model, thread.turn ? (thread.turn.model ?? 'model unknown') : '')
    setText(parts.provider, thread.turn?.provider ?? '')
    setText(parts.limit, this.#limitText())
    setText(parts.lastAt, thread.lastProgressAt ? clockTime(thread.lastProgressAt) : '–')
    parts.lastAt.dateTime = thread.lastProgressAt ?? ''
    parts.meter.setAttribute('aria-label', `Silence of ${thread.threadId}`)
    parts.meter.setAttribute('aria-valuemax', String(this.#switchedOff() ? 1 : this.#end() / 1000))
    this.#tell(thread.messages)
    this.draw(readAt)
  }

  /** Draws what grows by itself, as it is at `now` of this page's clock. */
  draw(now) {
    const thread = this.#thread
    const parts = this.#parts
    const since = now - this.#readAt
    const counts = thread.state === 'running' || thread.state === 'suspect' || thread.state === 'stale'
    const covered = thread.progressSilenceMs === 0 && (thread.openTool !== null || thread.waiting !== null)
    const silenceMs = (thread.progressSilenceMs ?? 0) + (counts && !covered ? since : 0)
    const sinceWall = (iso) => Date.parse(thread.now) - Date.parse(iso) + since
    const share = this.#switchedOff() ? 0 : Math.min(1, silenceMs / this.#end())
    parts.fill.style.transform = `scaleX(${share.toFixed(4)})`
    const seconds = `${Math.floor(silenceMs / 1000)} s`
    setText(parts.seconds, thread.turn ? seconds : '–')
    const end = this.#switchedOff() ? 1 : this.#end() / 1000
    parts.meter.setAttribute('aria-valuenow', String(Math.min(end, Math.floor(silenceMs / 1000))))
    parts.meter.setAttribute('aria-valuetext', `${seconds}, ${this.#limitText()}`)
    setText(parts.age, thread.turn ? span(sinceWall(thread.turn.startedAt)) : '')
    setText(parts.ago, thread.lastProgressAt ? `${span(sinceWall(thread.lastProgressAt))} ago` : 'none yet')
    const [what, detail] = this.#doing(sinceWall)
    setText(parts.what, what)
    setText(parts.detail, detail)
  }

  #end() {
    return this.#thread.thresholdMs * BAR_END
  }

  #switchedOff() {
    return this.#thread.thresholdMs >= OFF
  }

  #limitText() {
    const { thresholdMs, confirmMs, thresholdSource, samples } = this.#thread
    if (this.#switchedOff()) return 'no threshold'
    const source = thresholdSource === 'measured' ? `measured, n ${samples}` : thresholdSource
    return `threshold ${limit(thresholdMs)} (${source}), stale ${limit(thresholdMs + confirmMs)}`
  }

  /** What the turn does now, and more about it. */
  #doing(sinceWall) {
    const { state, phase, openTool, waiting, reason, staleSince, turn } = this.#thread
    const tool = openTool && (openTool.title ?? openTool.itemType)
    switch (state) {
      case 'requested':
        return ['not started', 'requested']
      case 'tool':
        return [tool, `tool open ${span(sinceWall(openTool.startedAt))}`]
      case 'waiting':
        return [waiting?.reason ?? 'waiting', waiting ? `waiting ${span(sinceWall(waiting.since))}` : '']
      case 'stale':
        return [reason, `stale ${span(sinceWall(staleSince))}, ${tool ? `${tool} open` : phase}`]
      case 'suspect':
        return [phase, `stale in ${span(this.#untilStale(sinceWall))}`]
      default:
        return [phase, turn.eventCount === 1 ? '1 event' : `${turn.eventCount} events`]
    }
  }

  #untilStale(sinceWall) {
    const { now, thresholdMs, confirmMs, progressSilenceMs } = this.#thread
    return thresholdMs + confirmMs - progressSilenceMs - sinceWall(now) + 1000
  }

  /** The messages that this thread was told of its children: the newest, and the others on request. */
  #tell(messages) {
    const keys = messages.map(({ key }) => key).join('\n')
    if (keys === this.#told) return
    this.#told = keys
    const box = this.#parts.messages
    box.hidden = messages.length === 0
    const [newest, ...earlier] = messages.toReversed()
    if (newest === undefined) return
    fillMessage(box.querySelector('.message'), newest)
    const more = box.querySelector('details')
    more.hidden = earlier.length === 0
    setText(
      more.querySelector('summary'),
      earlier.length === 1 ? '1 earlier message' : `${earlier.length} earlier messages`,
    )
    more.querySelector('ol').replaceChildren(
      ...earlier.map((message) => {
        const item = document.createElement('li')
        item.append(document.createElement('time'), document.createElement('bdi'))
        fillMessage(item, message)
        return item
      }),
    )
  }
}

function fillMessage(element, { at, text }) {
  const time = element.querySelector('time')
  time.dateTime = at
  setText(time, clockTime(at))
  setText(element.querySelector('bdi'), text)
}
