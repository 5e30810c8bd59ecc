/** The messages that have not arrived: a line per channel that has something to say, and a row per message. */

import { clockTime, setText, span } from './text.js'

/** So many rows stand open; the others on request. */
const OPEN_ROWS = 5

const byId = (id) => document.getElementById(id)
const copyOf = (id) => byId(id).content.firstElementChild.cloneNode(true)
const part = (element, name) => element.querySelector(`.${name}`)

export class Messages {
  #section = byId('messages')
  #announcement = byId('messages-announcement')
  #channels = new Map()
  #rows = new Map()
  #announced = ''

  /** Takes what the server told at `now`, which was `readAt` of this page's clock. */
  update({ channels, messages }, now, readAt) {
    const telling = channels.filter(({ pending, dead, failing }) => pending > 0 || dead > 0 || failing !== null)
    this.#section.hidden = telling.length === 0 && messages.length === 0
    const lines = keep(this.#channels, telling, ({ name }) => name, Channel)
    const rows = keep(this.#rows, messages, ({ channel, key }) => `${channel}\n${key}`, Row)
    for (const [i, line] of lines.entries()) line.update(telling[i], readAt)
    for (const [i, row] of rows.entries()) row.update(messages[i], now, readAt)
    const more = part(this.#section, 'more')
    arrange(part(this.#section, 'channels'), lines)
    arrange(part(this.#section, 'undelivered'), rows.slice(0, OPEN_ROWS))
    arrange(part(more, 'undelivered'), rows.slice(OPEN_ROWS))
    part(this.#section, 'message-columns').hidden = rows.length === 0
    more.hidden = rows.length <= OPEN_ROWS
    setText(part(more, 'summary'), `Show all ${rows.length}`)
    const unlisted = telling.reduce((sum, { pending, dead }) => sum + pending + dead, -rows.length)
    part(this.#section, 'unlisted').hidden = unlisted <= 0
    setText(part(this.#section, 'unlisted'), `${unlisted} more are not listed.`)
    this.#announce(telling)
  }

  /** Draws what grows by itself, as it is at `now` of this page's clock. */
  draw(now) {
    for (const line of [...this.#channels.values(), ...this.#rows.values()]) line.draw(now)
  }

  /** Tells assistive technology of what fails, not of every message that waits a moment. */
  #announce(channels) {
    const dead = channels.reduce((sum, channel) => sum + channel.dead, 0)
    const failing = channels.filter((channel) => channel.failing !== null).map(({ name }) => name)
    const announcement = [
      dead > 0 ? `${dead} dead` : '',
      failing.length > 0 ? `failing: ${failing.slice(0, 3).join(', ')}` : '',
    ]
      .filter((text) => text !== '')
      .join('; ')
    if (announcement !== this.#announced) {
      setText(this.#announcement, announcement ? `Messages: ${announcement}` : 'Messages arrive')
    }
    this.#announced = announcement
  }
}

/** One line of `Kind` per item, in their order; a line stays the same element as long as its item is told. */
function keep(kept, items, idOf, Kind) {
  const lines = new Map(items.map((item) => [idOf(item), kept.get(idOf(item)) ?? new Kind()]))
  kept.clear()
  for (const [id, line] of lines) kept.set(id, line)
  return items.map((item) => lines.get(idOf(item)))
}

function arrange(list, lines) {
  const elements = lines.map(({ element }) => element)
  const same = elements.length === list.children.length && elements.every((element, i) => element === list.children[i])
  if (!same) list.replaceChildren(...elements)
}

class Channel {
  element = copyOf('channel')
  #channel
  #readAt

  update(channel, readAt) {
    const { element } = this
    this.#channel = channel
    this.#readAt = readAt
    setText(part(element, 'channel-name'), channel.name)
    part(element, 'pending').hidden = channel.pending === 0
    part(element, 'dead').hidden = channel.dead === 0
    setText(part(element, 'dead'), `${channel.dead} dead`)
    part(element, 'failing').hidden = channel.failing === null
    setText(part(element, 'failing-why'), channel.failing ?? '')
    part(element, 'failing').title = channel.failing ?? ''
    this.draw(readAt)
  }

  draw(now) {
    const { pending, oldestPendingMs } = this.#channel
    setText(part(this.element, 'pending'), `${pending} pending, oldest ${span(oldestPendingMs + now - this.#readAt)}`)
  }
}

class Row {
  element = copyOf('message')
  #message
  #now
  #readAt

  update(message, now, readAt) {
    const { element } = this
    const { thread, parent, channel, state, since, attempts, failure } = message
    this.#message = message
    this.#now = now
    this.#readAt = readAt
    element.dataset.state = state
    element.classList.toggle('tried', failure !== null)
    setText(part(element, 'badge'), state)
    setText(part(element, 'child'), thread)
    part(element, 'child').title = thread
    setText(part(element, 'receiver-id'), parent ?? '')
    part(element, 'receiver').hidden = parent === null
    setText(part(element, 'by'), channel)
    setText(part(element, 'failure'), failure ?? 'none yet')
    part(element, 'failure').title = failure ?? ''
    setText(part(element, 'tries'), attempts === 0 ? 'not tried' : attempts === 1 ? '1 try' : `${attempts} tries`)
    setText(part(element, 'since-at'), clockTime(since))
    part(element, 'since-at').dateTime = since
    this.draw(readAt)
  }

  draw(now) {
    const { state, since, nextTryAt } = this.#message
    const passed = now - this.#readAt
    const untilMs = (iso) => Date.parse(iso) - Date.parse(this.#now) - passed
    setText(part(this.element, 'since-ago'), `${span(-untilMs(since))} ago`)
    setText(part(this.element, 'next'), nextTry(state, nextTryAt && untilMs(nextTryAt)))
  }
}

function nextTry(state, inMs) {
  if (state === 'dead') return 'given up'
  if (inMs === null) return 'trying now'
  return inMs > 0 ? `next in ${span(inMs + 999)}` : 'next try is due'
}
