/** Draws the view that the server has made of a dashboard. */

import { element } from './element.js'
import { drawGraph } from './graph.js'
import { drawEmpty, drawError, drawStat, drawStateTimeline, drawTable } from './panels.js'

const DRAWN = {
  graph: drawGraph,
  stat: drawStat,
  table: drawTable,
  'state-timeline': drawStateTimeline,
  empty: drawEmpty,
  error: drawError,
}

async function draw() {
  const response = await fetch(`/view/${location.pathname.split('/').at(-1)}${location.search}`)
  if (!response.ok) throw new Error(await response.text())
  const view = await response.json()
  document.title = view.title
  document.documentElement.dataset.theme = view.theme
  document.querySelector('h1').textContent = view.title
  document.querySelector('nav').append(...view.links.map(({ title, url }) => element('a', { href: url }, title)))
  document.querySelector('#time').textContent = `${utc(view.fromMs)} to ${utc(view.toMs)} UTC`
  document.querySelector('#variables').append(...view.variables.map(variable))
  document.querySelector('#annotations').append(...view.annotationNames.map(annotation))
  const main = document.querySelector('main')
  main.style.height = `${view.height}px`
  for (const panel of view.panels) main.append(drawPanel(panel, view))
  // Only what has its place in the document can be measured.
  for (const fit of main.querySelectorAll('[data-fit]')) fitText(fit)
  document.documentElement.dataset.ready = 'true'
}

function drawPanel(panel, view) {
  const { left, top, width, height } = panel.box
  const style = { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` }
  const isRow = panel.body.kind === 'row'
  const heading = element('h2', { title: panel.description }, panel.title)
  const [link] = panel.links
  const lead = link === undefined ? null : element('a', { className: 'lead', href: link.url, title: link.title }, '↗')
  const section = element(
    'section',
    { className: isRow ? 'row' : 'panel', style, 'data-panel': panel.id },
    heading,
    lead,
  )
  section.dataset.kind = panel.body.isEmpty ? 'empty' : panel.body.kind
  if (isRow) return section
  const body = element('div', { className: 'body' })
  section.append(body)
  DRAWN[panel.body.kind](body, panel.body, { width: width - 18, height: height - 40, view, section })
  return section
}

function variable({ label, text }) {
  return element('li', {}, element('span', {}, label), element('b', {}, text))
}

function annotation({ name, colour }) {
  return element('li', {}, element('i', { style: { background: colour } }), name)
}

/** As large as its place lets it be. */
function fitText(text) {
  const most = Number(text.dataset.fit)
  text.style.fontSize = `${most}px`
  const { clientWidth, scrollWidth } = text
  if (scrollWidth > clientWidth)
    text.style.fontSize = `${Math.max(14, Math.floor((most * clientWidth) / scrollWidth))}px`
}

function utc(ms) {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}

draw().catch((error) => {
  document.querySelector('main').append(element('p', { className: 'failed' }, error.message))
  document.documentElement.dataset.ready = 'failed'
})
