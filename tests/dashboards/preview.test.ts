import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { paletteColour } from '../../dashboards/preview/colours.ts'
import type { Dashboard, Panel } from '../../dashboards/preview/dashboard.ts'
import { seriesColour, show } from '../../dashboards/preview/display.ts'
import { PrometheusApi } from '../../dashboards/preview/prometheus-api.ts'
import { builtDashboards, type Preview, servePreview } from '../../dashboards/preview/server.ts'
import { stepMs } from '../../dashboards/preview/step.ts'
import { write } from '../../dashboards/preview/units.ts'
import { viewOf } from '../../dashboards/preview/view.ts'
import { type History, makeHistory } from '../../docs/dashboards/history.ts'
import { HERO_THREAD } from '../../docs/dashboards/scripted-turns.ts'
import { SHORT_STORY as story } from '../../docs/dashboards/story.ts'
import { DASHBOARD_UIDS } from '../../rules/dashboard-link.ts'
import { launchChromium } from '../setup/chromium.ts'

const dashboards = builtDashboards(Object.values(DASHBOARD_UIDS))
const missing = (['prometheus', 'chromium'] as const).some((name) => inject('missing').includes(name))

const REDUCE = { calcs: ['lastNotNull'], fields: '', values: false }
const BARE = { uid: 'bare', title: 'Bare', schemaVersion: 39, panels: [] } satisfies Dashboard
const STAT = {
  id: 1,
  type: 'stat',
  title: 'Hosts',
  gridPos: { x: 0, y: 0, w: 6, h: 4 },
  targets: [{ refId: 'A', expr: 'count(up)' }],
  options: { reduceOptions: REDUCE },
} satisfies Panel

/** Has one of each fault that is looked for. */
const FAULTY = {
  ...BARE,
  uid: 'faulty',
  panels: [
    { ...STAT, title: 'A title that is much longer than what a panel of a quarter of the page can show of it' },
    { ...STAT, id: 2, title: 'Below it', gridPos: { x: 0, y: 3, w: 6, h: 4 } },
    {
      id: 3,
      type: 'timeseries',
      title: 'Many lines',
      gridPos: { x: 6, y: 0, w: 6, h: 8 },
      targets: [{ refId: 'A', expr: 'turnwatch_event_gap_seconds_count' }],
      options: { legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] } },
    },
    {
      ...STAT,
      id: 4,
      title: 'Nothing there',
      gridPos: { x: 12, y: 0, w: 6, h: 4 },
      targets: [{ refId: 'A', expr: 'no' }],
    },
    { ...STAT, id: 5, title: 'Wrong', gridPos: { x: 18, y: 0, w: 6, h: 4 }, targets: [{ refId: 'A', expr: 'sum(' }] },
  ],
} satisfies Dashboard

describe('what Grafana shows and one would not think', () => {
  const look = { theme: 'light', nowMs: 0 } as const
  const LOW = { mode: 'absolute', steps: [{ value: null, color: 'green' }] } as const

  test('text that looks like a number is one, unless its unit is string, which text without a unit has', () => {
    expect(show('20240611', { unit: 'short' }, look, 'string').text).toBe('20.2 Mil')
    expect(show('20240611', { unit: 'string' }, look, 'string').text).toBe('20240611')
    expect(show('20240611', {}, look, 'string').text).toBe('20240611')
  })

  test('words for nothing stand in every empty cell, of text and of numbers', () => {
    expect(show('', { noValue: 'No alert fires' }, look, 'string').text).toBe('No alert fires')
    expect(show(null, { unit: 's', noValue: 'No alert fires' }, look).text).toBe('No alert fires')
    expect(show('', { noValue: '' }, look, 'string').text).toBe('')
  })

  test('what is not there has the colour of the lowest step, or that of a mapping', () => {
    expect(show(null, { noValue: 'None', thresholds: LOW }, look)).toEqual({ text: 'None', colour: '#56a64b' })
    const options = { match: 'null+nan', result: { text: 'No host', color: 'orange' } }
    const mappings = [{ type: 'special', options }]
    expect(show(null, { noValue: 'None', thresholds: LOW, mappings }, look)).toEqual({
      text: 'No host',
      colour: '#ff780a',
    })
  })

  test('series have colours by their place, green, yellow, blue, or by their names', () => {
    expect([0, 1, 2, 6, 18].map((i) => paletteColour(i, 'light'))).toEqual([
      '#56a64b',
      '#f2cc0c',
      '#3274d9',
      '#19730e',
      '#447ebc',
    ])
    const byName = { color: { mode: 'palette-classic-by-name' } }
    const of = (i: number) => seriesColour(byName, { i, name: 'codex gpt-5.2-codex', last: 1 }, 'light')
    expect(of(3)).toBe(of(0))
  })
})

describe('values as Grafana writes them', () => {
  const nowMs = Date.parse('2026-03-12T15:00:00Z')

  test.each([
    [90, 's', null, '1.5 mins'],
    [60, 's', null, '1 min'],
    [0.0421, 's', null, '42.1 ms'],
    [7.25, 's', 1, '7.3 s'],
    [5400, 's', null, '1.5 hours'],
    [0.2534, 'percentunit', null, '25.3%'],
    [0.2534, 'percentunit', 0, '25%'],
    [1_234_567, 'short', null, '1.23 Mil'],
    [12, 'short', null, '12'],
    [1536, 'bytes', null, '1.5 KiB'],
    [nowMs - 300_000, 'dateTimeFromNow', null, '5 minutes ago'],
    [Number.POSITIVE_INFINITY, 's', null, '∞'],
  ])('%d in %s with %s decimals is %s', (value, unit, decimals, text) => {
    expect(write(value, { unit, decimals, nowMs })).toBe(text)
  })

  test('points of a query are no closer than scrapes, and on round times', () => {
    expect(stepMs(3 * 3_600_000, 1366, 15_000)).toBe(15_000)
    expect(stepMs(24 * 3_600_000, 678, 15_000)).toBe(120_000)
    expect(stepMs(3_600_000, 678, 300_000)).toBe(300_000)
  })
})

function dashboardOf(name: keyof typeof DASHBOARD_UIDS): Dashboard {
  return dashboards.find(({ uid }) => uid === DASHBOARD_UIDS[name]) as Dashboard
}

/** What may be wrong with the element of a panel, as expressions of the page. */
const EMPTY = `section.dataset.kind === 'empty'`
const CUT = `section.querySelector('h2').scrollWidth > section.querySelector('h2').clientWidth`
const OVER = `[...document.querySelectorAll('section')].some((other) => {
  const [a, b] = [section.getBoundingClientRect(), other.getBoundingClientRect()]
  return other !== section && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
})`
/** Grafana lets a legend have a third of its panel, and scrolls what is more. */
const LEGEND = `(section.querySelector('.legend')?.clientHeight ?? 0) > 0.35 * section.querySelector('.body')?.clientHeight`
const SPILLS = `section.querySelector('.body')?.scrollHeight > section.querySelector('.body')?.clientHeight`
const BLANK = `[...section.querySelectorAll('canvas')].some((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  return data.every((byte) => byte === 0)
})`

describe.skipIf(missing)('the dashboards, drawn over a fleet that has seen everything', () => {
  let history: History
  let preview: Preview
  let browser: Browser
  let page: Page
  let complaints: string[]
  let requests: string[]

  beforeAll(async () => {
    history = await makeHistory(story)
    const range = { fromMs: story.endMs - story.shownMs, toMs: story.endMs }
    preview = await servePreview({ prometheus: history.url, dashboards: [...dashboards, FAULTY], range })
    browser = await launchChromium()
    page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
    page.setDefaultTimeout(60_000)
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    page.on('request', (request) => requests.push(request.url()))
    page.on('pageerror', (error) => complaints.push(String(error)))
  }, 180_000)

  afterAll(async () => {
    await browser?.close()
    await preview?.[Symbol.asyncDispose]()
    await history?.[Symbol.asyncDispose]()
  })

  async function open(uid: string): Promise<void> {
    complaints = []
    requests = []
    await page.goto(`${preview.url}/d/${uid}?var-thread=${HERO_THREAD}`)
    await page.locator('html[data-ready]').waitFor()
  }

  const texts = (selector: string) => page.locator(selector).allTextContents()
  /** The titles of panels for which an expression over their element is true. */
  const panelsWhere = (expression: string) =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('section')].filter((section) => ${expression}).map((section) => section.querySelector('h2').textContent)`,
    )

  describe.each(dashboards.map((one) => [one.uid, one] as const))('%s', (uid, dashboard) => {
    beforeAll(() => open(uid))

    test('shows every panel and row, under its title', async () => {
      const titles = dashboard.panels.map(({ title = '' }) => title.replace('$thread', HERO_THREAD))
      expect(titles.length).toBeGreaterThan(5)
      expect(await texts('h2')).toEqual(titles)
    })

    test('has no panel that failed or has nothing to show', async () => {
      expect(await texts('.failed')).toEqual([])
      expect(await panelsWhere(EMPTY)).toEqual([])
    })

    test('has no title that is cut, no panel over another one, and no legend that leaves no room', async () => {
      expect(await panelsWhere(CUT)).toEqual([])
      expect(await panelsWhere(OVER)).toEqual([])
      expect(await panelsWhere(LEGEND)).toEqual([])
      expect(await panelsWhere(SPILLS)).toEqual([])
    })

    test('draws something into every chart', async () => {
      expect(await panelsWhere(BLANK)).toEqual([])
      expect(await page.locator('canvas').count()).toBeGreaterThan(0)
      expect((await page.screenshot({ fullPage: true })).length).toBeGreaterThan(20_000)
    })

    test('asks nobody but its own server, and complains of nothing', () => {
      expect(complaints).toEqual([])
      expect(requests.length).toBeGreaterThan(3)
      expect(requests.filter((url) => !url.startsWith(`${preview.url}/`) && !url.startsWith('data:'))).toEqual([])
    })
  })

  test('the checks above see a title that is cut, a panel over another, a legend too large, and what fails', async () => {
    await open(FAULTY.uid)
    expect(await panelsWhere(CUT)).toEqual([FAULTY.panels[0]?.title])
    expect(await panelsWhere(OVER)).toEqual([FAULTY.panels[0]?.title, 'Below it'])
    expect(await panelsWhere(LEGEND)).toEqual(['Many lines'])
    expect(await panelsWhere(EMPTY)).toEqual(['Nothing there'])
    expect(await texts('.failed')).toEqual([expect.stringContaining('parse error')])
  })

  const options = () => ({ prometheus: history.url, fromMs: story.endMs - story.shownMs, toMs: story.endMs })

  test('says what happened: the stalled provider, the suspended host, the failing webhook', async () => {
    const alerts = await new PrometheusApi(history.url).range(
      'max by (alertname) (ALERTS{alertstate="firing"})',
      options().fromMs,
      options().toMs,
      15_000,
    )
    expect(alerts.map(({ labels }) => labels.alertname)).toEqual(
      expect.arrayContaining(['TurnStale', 'ProviderStalled', 'HostSuspended', 'NotifierFailing']),
    )
    const { annotations } = await viewOf(dashboards[0] as Dashboard, options())
    expect(annotations.map(({ title }) => title)).toContain('ProviderStalled')
  })

  test.each([
    ['a type of panel', { type: 'geomap' }, 'no panel of type geomap'],
    ['a unit', { fieldConfig: { defaults: { unit: 'furlongs' }, overrides: [] } }, 'no unit furlongs'],
    ['a transformation', { transformations: [{ id: 'joinByLabels', options: {} }] }, 'no transformation joinByLabels'],
    ['an option', { options: { reduceOptions: REDUCE, sparkle: true } }, 'no option sparkle'],
    ['a reducer', { options: { reduceOptions: { ...REDUCE, calcs: ['median'] } } }, 'no reducer median'],
    ['a variable', { targets: [{ refId: 'A', expr: 'up{job="$team"}' }] }, '$team is no variable'],
    ['a query', { targets: [{ refId: 'A', expr: 'sum(' }] }, 'parse error'],
  ] satisfies [string, Partial<Panel>, string][])(
    'shows %s that it does not know as an error',
    async (_what, changes, said) => {
      const view = await viewOf({ ...BARE, panels: [{ ...STAT, ...changes }] }, options())
      expect(view.panels[0]?.body).toMatchObject({ kind: 'error', text: expect.stringContaining(said) })
    },
  )

  test('tells a panel that has words for nothing from one that is just empty', async () => {
    const meant = { defaults: { noValue: 'All is well' }, overrides: [] }
    const table = {
      ...STAT,
      type: 'table',
      options: {},
      targets: [{ refId: 'A', expr: 'no', instant: true, format: 'table' }],
    }
    const panels = [{ ...table, fieldConfig: meant }, table]
    const view = await viewOf({ ...BARE, panels }, options())
    expect(view.panels.map(({ body }) => body)).toEqual([
      { kind: 'empty', text: 'All is well', isMeant: true },
      { kind: 'empty', text: 'No data', isMeant: false },
    ])
  })

  test('paints a number that is not there as Grafana does: green, where the panel does not say otherwise', async () => {
    const targets = [{ refId: 'A', expr: 'nothing_is_called_so' }]
    const thresholds = { mode: 'absolute', steps: [{ value: null, color: 'green' }] } as const
    const panels = [
      {
        ...STAT,
        targets,
        options: { ...STAT.options, colorMode: 'background' },
        fieldConfig: { defaults: { thresholds } },
      },
    ]
    const { panels: drawn } = await viewOf({ ...BARE, panels }, options())
    expect(drawn[0]?.body).toMatchObject({ isEmpty: true, tiles: [{ text: 'No data', background: '#56a64b' }] })
  })

  test('begins with the thread that is nearest to being flagged, or beyond', async () => {
    const { variables } = await viewOf(dashboardOf('thread'), options())
    const [worst] = await new PrometheusApi(history.url).instant(
      'topk(1, turnwatch_thread_silence_seconds / turnwatch_thread_silence_threshold_seconds)',
      options().toMs,
    )
    expect(variables.find(({ label }) => label === 'Thread')?.text).toBe(worst?.labels.thread)
    expect(worst?.points[0]?.[1]).toBeGreaterThan(1)
  })

  test('shows no good where no host is seen, nor words in cells that are only empty', async () => {
    const before = {
      prometheus: history.url,
      fromMs: story.endMs - 10 * 86_400_000,
      toMs: story.endMs - 9 * 86_400_000,
    }
    const blind = await viewOf(dashboardOf('overview'), before)
    const tiles = blind.panels.flatMap(({ body }) => (body.kind === 'stat' ? body.tiles : []))
    expect(tiles.map(({ text, background }) => [text, background])).toEqual([
      ['No host is seen', '#ff780a'],
      ['No running turn is shown', '#7b8087'],
      ['No host is seen', '#ff780a'],
      ['No host, or no rules', '#ff780a'],
      ['No host is seen', null],
    ])
    const { panels } = await viewOf(dashboardOf('overview'), options())
    const alerts = panels.find(({ title }) => title === 'Alerts that fire')?.body
    const cells = alerts?.kind === 'table' ? alerts.rows.flat() : []
    expect(cells.map(({ text }) => text)).toContain('TurnStale')
    expect(cells.filter(({ text, links }) => `${text} ${links[0]?.url}`.includes('No alert fires'))).toEqual([])
  })
})
