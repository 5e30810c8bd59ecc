/** Charts by uPlot, on the axes that the server has chosen. */

import uPlot from '/uplot.js'
import { element, legend, legendTable } from './element.js'

export function drawGraph(body, graph, { width, height, view }) {
  const names = (graph.legend?.order ?? []).map((i) => {
    const { name, colour, dash, calcs } = graph.lines[i]
    return { name, colour, calcs, isDashed: dash !== null }
  })
  const plot = element('div', { className: 'plot' })
  body.append(plot)
  let legendHeight = 0
  const beside = graph.legend?.width ?? 0
  if (beside > 0) {
    body.append(legendTable(names, graph.legend.columns, beside))
  } else if (graph.legend !== null) {
    const list = legend(names)
    body.append(list)
    // Its place can be measured only once it is in the document.
    document.body.append(list)
    list.style.width = `${width}px`
    legendHeight = list.getBoundingClientRect().height
    body.append(list)
  }
  const ink = getComputedStyle(document.documentElement)
  const grid = { stroke: ink.getPropertyValue('--grid'), width: 1 }
  const axis = { stroke: ink.getPropertyValue('--quiet'), grid, ticks: { show: false }, font: '12px Inter, sans-serif' }
  const labelWidth = Math.max(...graph.y.marks.map(({ label }) => label.length)) * 6.6 + 12
  new uPlot(
    {
      width: width - beside,
      height: height - legendHeight,
      padding: [8, 20, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [graph.x.min, graph.x.max] }, y: { range: [graph.y.min, graph.y.max] } },
      axes: [
        { ...axis, size: 24, gap: 4, ...marks(graph.x.marks) },
        { ...axis, size: labelWidth, gap: 4, ...marks(graph.y.marks) },
      ],
      series: [{}, ...graph.lines.map(series)],
      bands: graph.lines.flatMap((line, i) =>
        line.on === null ? [] : [{ series: [i + 1, line.on + 1], fill: faded(line.colour, line.fill) }],
      ),
      hooks: {
        drawAxes: [(chart) => drawRegions(chart, view.annotations)],
        draw: [(chart) => drawLimits(chart, graph.limits)],
      },
    },
    [graph.times, ...graph.lines.map(({ drawn }) => drawn)],
    plot,
  )
}

function marks(all) {
  const labels = new Map(all.map(({ at, label }) => [at, label]))
  return { splits: () => all.map(({ at }) => at), values: (_chart, splits) => splits.map((at) => labels.get(at)) }
}

function series({ name, colour, fill, width, dash, isStepped, on }) {
  return {
    label: name,
    stroke: colour,
    width,
    dash: dash ?? undefined,
    // One that stands on another is filled as a band between the two.
    fill: fill > 0 && on === null ? faded(colour, fill) : undefined,
    paths: isStepped ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
    points: { show: true, size: width + 4, fill: colour, filter: alone },
  }
}

/** Points without a neighbour on either side, of which no line could tell. */
function alone(chart, seriesIdx) {
  const values = chart.data[seriesIdx]
  return [...values.keys()].filter((i) => values[i] != null && values[i - 1] == null && values[i + 1] == null)
}

/** Every region's beginning is marked; what they cover is shaded once, however many there are. */
function drawRegions(chart, annotations) {
  const { ctx, bbox } = chart
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  for (const colour of new Set(annotations.map((one) => one.colour))) {
    const own = annotations.filter((one) => one.colour === colour)
    const shaded = new Path2D()
    for (const { from, to } of own) {
      const left = chart.valToPos(from, 'x', true)
      shaded.rect(left, bbox.top, chart.valToPos(to, 'x', true) - left, bbox.height)
    }
    ctx.fillStyle = faded(colour, 0.07)
    ctx.fill(shaded)
    for (const from of new Set(own.map((one) => one.from))) {
      const left = chart.valToPos(from, 'x', true)
      line(ctx, left, bbox.top, left, bbox.top + bbox.height, faded(colour, 0.7), [3, 4])
    }
  }
  ctx.restore()
}

function drawLimits(chart, limits) {
  const { ctx, bbox } = chart
  for (const { at, colour, dashed } of limits) {
    const top = chart.valToPos(at, 'y', true)
    if (top < bbox.top || top > bbox.top + bbox.height) continue
    line(ctx, bbox.left, top, bbox.left + bbox.width, top, colour, dashed ? [8, 6] : [])
  }
}

function line(ctx, fromX, fromY, toX, toY, colour, dash) {
  ctx.save()
  ctx.strokeStyle = colour
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash(dash.map((length) => length * devicePixelRatio))
  ctx.beginPath()
  ctx.moveTo(fromX, fromY)
  ctx.lineTo(toX, toY)
  ctx.stroke()
  ctx.restore()
}

/** `#rrggbb` with an opacity. */
export function faded(colour, opacity) {
  return `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`
}
