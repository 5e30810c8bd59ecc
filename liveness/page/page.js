/** The live page: asks for every thread once a second, keeps one row per thread, and says when nobody answers. */

import { Messages } from './messages.js'
import { Row } from './row.js'
import { clockTime, setText } from './text.js'

const POLL_MS = 1000
const TIMEOUT_MS = 5000
/** Between two answers the silences that run are drawn this often. */
const DRAW_MS = 250
const STATES = ['stale', 'suspect', 'waiting', 'running', 'tool', 'requested']

const byId = (id) => document.getElementById(id)
const list = byId('turns')
const template = byId('row').content.firstElementChild

/** Rows by thread id. */
const rows = new Map()
const messages = new Messages()
const filter = { state: 'all', text: '' }
let threads = []
let answeredAt = null
let connected = false
let announced = ''

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const row = rows.get(target.threadId)
    if (row?.element === target) row.visible = isIntersecting
  }
})

const buttons = new Map(
  ['all', ...STATES].map((state) => {
    const button = document.createElement('button')
    const number = document.createElement('b')
    button.type = 'button'
    button.dataset.state = state
    button.append(number, ` ${state}`)
    button.addEventListener('click', () => {
      filter.state = filter.state === state ? 'all' : state
      show()
    })
    byId('counts').append(button)
    return [state, { button, number }]
  }),
)

byId('search').addEventListener('input', ({ target }) => {
  filter.text = target.value.trim().toLowerCase()
  show()
})

/** Stale ones first; then by tenths of the threshold, so that turns that stream do not change places every second. */
function order(a, b) {
  return rank(a) - rank(b) || STATES.indexOf(a.state) - STATES.indexOf(b.state) || byAge(a, b)
}

function rank({ state, progressSilenceMs, thresholdMs }) {
  if (state === 'stale') return -3000
  if (state === 'suspect') return -2000
  return -Math.min(1000, Math.floor((10 * (progressSilenceMs ?? 0)) / thresholdMs))
}

function byAge(a, b) {
  const [started, other] = [a, b].map(({ turn, threadId }) => `${turn?.startedAt ?? ''}\n${threadId}`)
  return started < other ? -1 : 1
}

function matches({ state, threadId, parentThreadId, turn }) {
  if (filter.state !== 'all' && filter.state !== state) return false
  const words = [threadId, parentThreadId, turn?.model, turn?.provider]
  return filter.text === '' || words.some((word) => word?.toLowerCase().includes(filter.text))
}

function show() {
  const wanted = threads.filter(matches).sort(order)
  const kept = new Set(wanted.map((thread) => thread.threadId))
  for (const [threadId, row] of rows) {
    if (kept.has(threadId)) continue
    watcher.unobserve(row.element)
    row.element.remove()
    rows.delete(threadId)
  }
  let at = list.firstElementChild
  for (const thread of wanted) {
    let row = rows.get(thread.threadId)
    if (row === undefined) {
      row = new Row(template.cloneNode(true))
      row.element.threadId = thread.threadId
      rows.set(thread.threadId, row)
      list.insertBefore(row.element, at)
      watcher.observe(row.element)
    } else {
      // One row that moved down is moved, not all those that it stood before.
      if (at !== row.element && at?.nextElementSibling === row.element) at = place(at, null) ?? row.element
      if (at === row.element) at = at.nextElementSibling
      else place(row.element, at)
    }
    row.update(thread, answeredAt)
  }
  summarise(wanted.length)
}

/** Moves a row without losing the focus or an open list inside it, where the browser can. */
function place(element, before) {
  const next = element.nextElementSibling
  if (list.moveBefore) list.moveBefore(element, before)
  else list.insertBefore(element, before)
  return next
}

function summarise(shown) {
  const counts = Object.groupBy(threads, ({ state }) => state)
  for (const [state, { button, number }] of buttons) {
    const count = state === 'all' ? threads.length : (counts[state]?.length ?? 0)
    setText(number, String(count))
    button.classList.toggle('some', count > 0)
    button.setAttribute('aria-pressed', String(filter.state === state))
  }
  const stale = counts.stale ?? []
  document.title = stale.length > 0 ? `(${stale.length} stale) turnwatch` : 'turnwatch'
  const names = stale.map(({ threadId }) => threadId).sort()
  const announcement = names.length === 0 ? '' : `${names.length} stale: ${names.slice(0, 3).join(', ')}`
  if (announcement !== announced) setText(byId('announcement'), announcement || 'No stale turns')
  announced = announcement
  byId('empty').hidden = shown > 0
  setText(
    byId('empty'),
    threads.length > 0 ? 'No turn matches the filter.' : 'No turn is running. The next one appears here by itself.',
  )
}

async function poll() {
  const askedAt = performance.now()
  try {
    const response = await fetch('api/prism/threads', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const answer = await response.json()
    if (!response.ok) throw new Error(answer.error)
    threads = answer.threads
    answeredAt = performance.now()
    connect(answer.now)
    messages.update(answer.notifications, answer.now, answeredAt)
    show()
  } catch (error) {
    disconnect(error)
  }
  setTimeout(poll, Math.max(100, POLL_MS - (performance.now() - askedAt)))
}

function connect(now) {
  connected = true
  byId('outage').hidden = true
  byId('link').dataset.link = 'live'
  document.body.classList.remove('lost')
  const time = clockTime(now)
  setText(byId('link-text'), `live ${time}`)
  byId('link').dataset.since = time
}

function disconnect(error) {
  if (!connected && !byId('outage').hidden) return
  connected = false
  const { since } = byId('link').dataset
  const answers =
    error instanceof TypeError || error.name === 'TimeoutError' ? '' : ` The server says: ${error.message}.`
  byId('link').dataset.link = 'lost'
  setText(byId('link-text'), 'disconnected')
  document.body.classList.add('lost')
  setText(
    byId('outage'),
    since === undefined
      ? `No connection to the server.${answers} Trying again every second.`
      : `No connection since ${since}.${answers} What you see is from then; trying again every second.`,
  )
  byId('outage').hidden = false
}

setInterval(() => {
  if (!connected || document.hidden) return
  const now = performance.now()
  for (const row of rows.values()) if (row.visible) row.draw(now)
  messages.draw(now)
}, DRAW_MS)

poll()
