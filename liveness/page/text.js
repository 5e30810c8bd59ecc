/** What the page says of text and time. Everything from outside is set as text, never as markup. */

const HOURS = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })

export function setText(node, text) {
  if (node.firstChild === null || node.firstChild.data !== text) node.textContent = text
}

/** An ISO time as hours, minutes and seconds here. */
export function clockTime(iso) {
  return HOURS.format(new Date(iso))
}

/** Seconds in at most two units: `42 s`, `3 m 05 s`, `2 h 10 m`. */
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const two = (n) => String(n).padStart(2, '0')
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} m`
}
