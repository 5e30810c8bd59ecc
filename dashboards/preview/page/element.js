/** Elements, made in one line. */

/** An element with classes, properties and children; texts are never read as HTML. */
export function element(tag, { className = '', style = {}, ...attributes } = {}, ...children) {
  const made = document.createElement(tag)
  if (className !== '') made.className = className
  Object.assign(made.style, style)
  for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value)
  made.append(...children.filter((child) => child != null))
  return made
}

/** A text that leads somewhere, where there is a link. */
export function linked(text, links) {
  return links.length === 0 ? text : element('a', { href: links[0].url, title: links[0].title }, text)
}

/** Names with their colours. */
export function legend(names) {
  const items = names.map(({ name, colour, isDashed, calcs = [] }) =>
    element(
      'li',
      {},
      element('i', { className: isDashed ? 'dashed' : '', style: { borderColor: colour } }),
      element('span', {}, name),
      ...calcs.map((calc) => element('b', {}, calc)),
    ),
  )
  return element('ul', { className: 'legend' }, ...items)
}

/** The same as a table, beside a chart; what does not fit is scrolled to. */
export function legendTable(names, columns, width) {
  const head = [element('th', {}, 'Name'), ...columns.map((title) => element('th', { className: 'right' }, title))]
  const rows = names.map(({ name, colour, calcs }) =>
    element(
      'tr',
      {},
      element('td', { title: name }, element('i', { style: { borderColor: colour } }), name),
      ...calcs.map((calc) => element('td', { className: 'right' }, calc)),
    ),
  )
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows))
  return element('div', { className: 'beside', style: { width: `${width}px` } }, table)
}
