/** The panels that are not charts. */

import uPlot from '/uplot.js'
import { element, legend, linked } from './element.js'
import { faded } from './graph.js'

export function drawEmpty(body, { text, isMeant }) {
  body.append(element('p', { className: isMeant ? 'empty' : 'empty missing' }, text))
}

export function drawError(body, { text }) {
  body.append(element('p', { className: 'failed' }, text))
}

export function drawStat(body, { tiles }, { width, height, section }) {
  const list = element('div', { className: 'tiles' })
  const [first] = tiles
  if (tiles.length === 1 && first.background !== null) {
    section.style.background = first.background
    section.style.borderColor = first.background
    section.style.color = first.colour
    section.classList.add('filled')
  }
  for (const tile of tiles) {
    const most = Math.min(52, Math.floor(height * (tile.name === null ? 0.55 : 0.4)))
    const value = element('strong', { 'data-fit': most, style: { color: tile.colour } }, linked(tile.text, tile.links))
    const name = tile.name === null ? null : element('span', { className: 'name' }, tile.name)
    const box = element('div', { className: tile.spark === null ? 'tile' : 'tile sparked' }, name, value)
    list.append(box)
    if (tile.spark !== null) spark(box, tile, width / tiles.length, height)
  }
  body.append(list)
}

/** What the value was, behind it at its foot. */
function spark(box, { spark, colour }, width, height) {
  const ground = element('div', { className: 'spark' })
  box.prepend(ground)
  const axes = [{ show: false }, { show: false }]
  new uPlot(
    {
      width,
      height: height * 0.4,
      padding: [2, 0, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false },
        y: { range: (_chart, least, most) => [Math.min(0, least), Math.max(most, least + 1e-9)] },
      },
      axes,
      series: [{}, { stroke: faded(colour, 0.7), width: 1.5, fill: faded(colour, 0.15), points: { show: false } }],
    },
    [[...spark.keys()], spark],
    ground,
  )
}

export function drawTable(body, { columns, rows }) {
  const head = columns.map(({ title, width, isRight }) =>
    element('th', { className: isRight ? 'right' : '', style: width === null ? {} : { width: `${width}px` } }, title),
  )
  const lines = rows.map((cells) =>
    element(
      'tr',
      {},
      ...cells.map(({ text, colour, background, links }, i) =>
        element(
          'td',
          {
            className: columns[i].isRight ? 'right' : '',
            title: text,
            style: { color: colour ?? '', background: background ?? '' },
          },
          linked(text, links),
        ),
      ),
    ),
  )
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...lines))
  body.append(element('div', { className: 'scroll' }, table))
}

export function drawStateTimeline(body, { rows, x, legend: names }) {
  const place = (at) => `${((at - x.min) / (x.max - x.min)) * 100}%`
  const lines = rows.map(({ name, stretches }) =>
    element(
      'div',
      { className: 'states' },
      element('span', { className: 'name', title: name }, name),
      element(
        'div',
        { className: 'bar' },
        ...stretches.map(({ from, to, text, colour, textColour }) =>
          element(
            'div',
            {
              className: 'stretch',
              title: text,
              style: {
                left: place(from),
                width: `${((to - from) / (x.max - x.min)) * 100}%`,
                background: colour,
                color: textColour,
              },
            },
            element('span', {}, text),
          ),
        ),
      ),
    ),
  )
  const ticks = x.marks.map(({ at, label }) =>
    element('span', { className: at === x.max ? 'last' : '', style: { left: place(at) } }, label),
  )
  body.append(
    element('div', { className: 'timeline' }, ...lines, element('div', { className: 'ticks' }, ...ticks)),
    legend(names),
  )
  // A text that does not fit its stretch is left out, as Grafana does.
  requestAnimationFrame(() => {
    for (const stretch of body.querySelectorAll('.stretch')) {
      const text = stretch.firstElementChild
      text.hidden = text.scrollWidth + 8 > stretch.clientWidth
    }
  })
}
