import { describe, expect, it } from 'vitest'
import type { Dashboard, Panel } from './dashboard.ts'
import { CHOICE, GOOD, OVERLAY, PANEL, TIME, withPanel, withTarget, withVariable } from './lint/good.ts'
import { RULES } from './lint/rules.ts'

const HOST = 'job=~"$job", instance=~"$instance"'
const MODEL = 'provider=~"$provider", model=~"$model"'

/** What each rule says about a dashboard that breaks it alone. */
const BROKEN: readonly (readonly [string, string, Dashboard, string])[] = [
  ['isUneditable', 'that can be edited', { ...GOOD, editable: true }, 'can be edited'],
  ['hasSlugUid', 'of a long uid', { ...GOOD, uid: 'turnwatch-'.repeat(5) }, 'is no slug'],
  ['hasSlugUid', 'of a uid with spaces', { ...GOOD, uid: 'turn watch' }, 'uid turn watch is no slug'],
  ['isClassic', 'of another schema', { ...GOOD, schemaVersion: 42 }, 'schemaVersion 42'],
  ['hasUniqueIds', 'with an id twice', withPanel({ id: 1 }), 'id 1 is there twice'],
  [
    'hasUniqueTitles',
    'with a title twice',
    { ...GOOD, panels: [...GOOD.panels, { ...PANEL, id: 3, gridPos: { x: 0, y: 9, w: 24, h: 8 } }] },
    'title Stale turns by model is there twice',
  ],
  [
    'linksToItsSiblings',
    'whose links lose the time',
    { ...GOOD, links: GOOD.links.map((link) => ({ ...link, keepTime: false })) },
    'no links',
  ],
  ['linksToItsSiblings', 'without its tag', { ...GOOD, tags: [] }, 'no links'],
  ['showsAlerts', 'without alerts', { ...GOOD, annotations: { list: [] } }, 'no overlay of alerts'],
  [
    'showsAlerts',
    'that shows pending alerts',
    overlay(OVERLAY.expr.replace('alertstate="firing"', 'alertstate=~".*"')),
    'shows more than those that fire',
  ],
  ['showsAlerts', 'that forgets one', overlay(OVERLAY.expr.replace('TurnStale|', '')), 'lacks TurnStale'],
  [
    'rowsAsk',
    'with a row that asks nothing',
    { ...GOOD, panels: GOOD.panels.map((one) => (one.type === 'row' ? { ...one, title: 'Turns' } : one)) },
    'no question: Turns',
  ],
  [
    'hasOneDatasource',
    'whose data source has another name',
    withVariable('datasource', { name: 'ds' }),
    'is not called',
  ],
  ['hasOneDatasource', 'without a data source', withVariable('datasource', { type: 'constant' }), '0 variables'],
  [
    'choosesHosts',
    'where All is everything',
    withVariable('job', { allValue: '.*' }),
    'job takes not several values, .+',
  ],
  ['choosesHosts', 'of one host at a time', withVariable('instance', { multi: false }), 'instance takes not several'],
  [
    'choosesHosts',
    'with hosts of a fixed data source',
    withVariable('instance', { datasource: { type: 'prometheus', uid: 'abc' } }),
    'of $datasource',
  ],
  ['choosesModels', 'where All hides models without a name', withVariable('model', { allValue: '.+' }), 'model takes'],
  ['choosesModels', 'without a choice of providers', withVariable('provider', { name: 'p' }), 'no variable provider'],
  [
    'reloadsOnTime',
    'that asks for hosts but once',
    withVariable('instance', { refresh: 1 }),
    'instance does not follow',
  ],
  [
    'asksForLabels',
    'with a variable of a label that there is not',
    withVariable('model', { query: 'label_values(turnwatch_turns_started_total, phase)' }),
    'turnwatch_turns_started_total has no label phase',
  ],
  ['asksForLabels', 'with another kind of query', withVariable('model', { query: 'metrics(x)' }), 'no label_values'],
  [
    'asksForLabels',
    'with results of which no label is read',
    withVariable('model', { query: 'query_result(turnwatch_thread_info)', regex: '/(.*)/' }),
    'no label is read',
  ],
  [
    'hasTheWorstFirst',
    'with threads by the alphabet',
    withVariable('model', { includeAll: false, query: 'label_values(turnwatch_thread_info, thread)', sort: 7 }),
    'model begins with any',
  ],
  ['isNotGreenWhenBlind', 'with a number that is green when no host is there', withPanel({ type: 'stat' }), 'no words'],
  [
    'isNotGreenWhenBlind',
    'with words for it that are green',
    withDefaults('stat', {
      mappings: [{ type: 'special', options: { match: 'null', result: { text: 'None', color: 'green' } } }],
    }),
    'no words',
  ],
  [
    'leavesCellsEmpty',
    'with a table whose words fill cells',
    withDefaults('table', { noValue: 'None' }),
    'empty cells',
  ],
  ['keepsTextAsText', 'with a table of numbers alone', withDefaults('table', { unit: 'short' }), 'look like numbers'],
  [
    'sortsByNumbers',
    'with a table sorted by a label',
    withPanel({ type: 'table', options: { sortBy: [{ displayName: 'Severity' }] } }),
    'sorted by text',
  ],
  ['hasColoursOnce', 'with a colour twice', coloured('green', 'green'), 'green is there twice'],
  ['hasThresholds', 'with the thresholds that Grafana puts in', withDefaults('timeseries', {}), 'no thresholds'],
  ['namesItsLimits', 'with a limit that nobody sees', limited('off', 'Red (red line) is bad.'), 'is not drawn'],
  ['namesItsLimits', 'with a line that nobody explains', limited('dashed', 'Red is bad.'), 'does not name'],
  [
    'ranksModels',
    'with fifty models below a chart',
    withPanel({ options: { legend: { displayMode: 'list' } } }),
    'grows with the models',
  ],
  [
    'findsOtherThreads',
    'that looks for a parent among the models of its child',
    withPanel({
      fieldConfig: {
        defaults: {},
        overrides: [
          {
            matcher: { id: 'byName', options: 'Started by' },
            properties: [
              { id: 'links', value: [{ url: `/d/turnwatch-thread?var-thread=\${__data.fields.parent}&${CHOICE}` }] },
            ],
          },
        ],
      },
    }),
    'keeps the model',
  ],
  [
    'measuresAges',
    'with the age of a scrape',
    withTarget({ expr: `time() - turnwatch_last_tick_timestamp_seconds{${HOST}}` }),
    'the age of the scrape',
  ],
  [
    'choosesOnce',
    'with the ten lowest of each point',
    withTarget({ expr: `bottomk(10, turnwatch_turns_stale{${HOST}, ${MODEL}})` }),
    'bottomk in each point',
  ],
  [
    'looksBackFarEnough',
    'with a fixed offset',
    withTarget({ expr: `turnwatch_build_info{${HOST}} unless turnwatch_build_info{${HOST}} offset 2m` }),
    'offset 2m',
  ],
  [
    'readsSums',
    'with every state of every host in each point',
    withTarget({ expr: `sum by (state) (turnwatch_turns_running{${HOST}, ${MODEL}})` }),
    'recorded as a sum',
  ],
  [
    'readsSums',
    'with an hour of them at once',
    withTarget({ instant: true, expr: `sum(last_over_time(turnwatch_turns_running{${HOST}, ${MODEL}}[1h]))` }),
    'recorded as a sum',
  ],
  [
    'countsWholes',
    'with a third of a turn',
    withTarget({ expr: `sum(increase(turnwatch_turns_started_total{${HOST}, ${MODEL}}[$__range]))` }),
    'a broken count',
  ],
  [
    'countsHostsOnce',
    'with a host for each of its versions',
    withTarget({ expr: `count(turnwatch_build_info{${HOST}})` }),
    'counts versions',
  ],
  [
    'quotesSafely',
    'with a value that may have quotes in it',
    withTarget({ expr: `turnwatch_thread_stale{thread="$thread", ${HOST}}` }),
    'between double quotes',
  ],
  [
    'readsTheDatasource',
    'with a query of its own data source',
    withTarget({ datasource: { type: 'prometheus', uid: 'abc' } }),
    'reads not $datasource',
  ],
  [
    'readsTheDatasource',
    'of another type',
    withPanel({ datasource: { type: 'loki', uid: '$datasource' } }),
    'reads not',
  ],
  ['saysWhatItIs', 'without a title', withPanel({ title: '' }), 'panel 2: no title'],
  ['saysWhatItIs', 'without a description', withPanel({ description: '' }), 'no description'],
  ['hasUnit', 'of a unit that Grafana lacks', unit('seconds'), 'unit seconds'],
  ['hasUnit', 'of bare numbers', unit('none'), 'no unit'],
  [
    'hasUnit',
    'with a column of no unit',
    withPanel({
      fieldConfig: {
        defaults: { unit: 'short' },
        overrides: [{ matcher: { id: 'byName', options: 'x' }, properties: [{ id: 'unit', value: 'secs' }] }],
      },
    }),
    'unit secs',
  ],
  ['asksSomething', 'with a panel without queries', withPanel({ targets: [] }), 'no queries'],
  ['namesItsQueries', 'without a legend', withTarget({ legendFormat: '' }), 'without a legend'],
  [
    'namesItsQueries',
    'with a letter twice',
    withPanel({ targets: [...(PANEL.targets ?? []), ...(PANEL.targets ?? [])] }),
    'queries A, A',
  ],
  ['leadsDeeper', 'with a panel that leads nowhere', withPanel({ links: [] }), 'leads nowhere'],
  [
    'leadsDeeper',
    'with a panel that leads to itself',
    linked(`/d/turnwatch-overview?${TIME}&${CHOICE}`),
    'leads nowhere',
  ],
  ['leadsDeeper', 'with a link to an unknown dashboard', linked('/d/other?x'), 'a link to nothing: /d/other?x'],
  ['leadsDeeper', 'with a link to an unknown runbook', linked('https://example.org/TurnStale.md'), 'a link to nothing'],
  [
    'choosesWhatThereIs',
    'with a link that chooses something else',
    linked(`/d/turnwatch-thread?${TIME}&${CHOICE}&var-parent=a`),
    'no variable parent',
  ],
  ['keepsTheChoice', 'with a link that loses the time', linked(`/d/turnwatch-thread?${CHOICE}`), 'loses time'],
  ['keepsTheChoice', 'with one that loses the choice', linked(`/d/turnwatch-thread?${TIME}`), 'data source'],
  ['standsByItself', 'that is too wide', withPanel({ gridPos: { x: 1, y: 1, w: 24, h: 8 } }), 'outside of the grid'],
  ['standsByItself', 'with one over another', withPanel({ gridPos: { x: 0, y: 0, w: 24, h: 8 } }), 'over another'],
  [
    'canBeRead',
    'with no PromQL',
    withTarget({ expr: 'sum by (provider, model) (' }),
    'Stale turns by model A: cannot read',
  ],
  [
    'ratesFollowThePoints',
    'with a rate over a fixed time',
    withTarget({ expr: `sum by (provider, model) (rate(turnwatch_turns_started_total{${HOST}, ${MODEL}}[5m]))` }),
    'rate over 5m',
  ],
  [
    'ratesFollowThePoints',
    'with a rate over all that is shown',
    withTarget({ expr: `sum by (provider, model) (rate(turnwatch_turns_started_total{${HOST}, ${MODEL}}[$__range]))` }),
    'rate over',
  ],
  [
    'followsTheVariables',
    'with a query of all hosts',
    withTarget({ expr: `sum by (provider, model) (turnwatch_turns_stale{${MODEL}})` }),
    'turnwatch_turns_stale does not follow job, instance',
  ],
  [
    'followsTheVariables',
    'with a query of all models',
    withTarget({ expr: `sum by (provider, model) (turnwatch_turns_stale{${HOST}})` }),
    'does not follow provider, model',
  ],
  [
    'followsTheVariables',
    'with a recorded series of all jobs',
    withTarget({ expr: `sum by (provider, model) (provider_model:turnwatch_turns_stale:sum{${MODEL}})` }),
    'does not follow job',
  ],
  [
    'followsTheVariables',
    'that compares a choice of several as one',
    withTarget({
      expr: `sum by (provider, model) (turnwatch_turns_stale{job="$job", instance=~"$instance", ${MODEL}})`,
    }),
    'does not follow job',
  ],
  [
    'countersAreRates',
    'with a bare counter',
    withTarget({ expr: `sum by (provider, model) (turnwatch_turns_started_total{${HOST}, ${MODEL}})` }),
    'turnwatch_turns_started_total outside of a rate',
  ],
  [
    'namesWhatThereIs',
    'with a metric that there is not',
    withTarget({
      expr: `sum by (provider, model) (turnwatch_turns_stuck{${HOST}, ${MODEL}} + turnwatch_turns_stale{${HOST}, ${MODEL}})`,
    }),
    'no metric turnwatch_turns_stuck',
  ],
  [
    'namesWhatThereIs',
    'with a label that there is not',
    withTarget({ expr: `sum by (provider, model) (turnwatch_turns_stale{kind="x", ${HOST}, ${MODEL}})` }),
    'turnwatch_turns_stale has no label kind',
  ],
  [
    'namesWhatThereIs',
    'grouped by a label that there is not',
    withTarget({ expr: `sum by (provider, model, kind) (turnwatch_turns_stale{${HOST}, ${MODEL}})` }),
    'grouped by kind',
  ],
  [
    'legendsNameLabels',
    'with a label in the legend that is summed away',
    withTarget({ legendFormat: '{{reason}}' }),
    'no reason for the legend',
  ],
  ['explainsItself', 'with a quantile alone', withTarget({ legendFormat: 'p95' }), 'a quantile is not explained'],
  ['explainsItself', 'with a phase alone', withPanel({ title: 'Gaps by phase' }), 'a phase is not explained'],
  ['explainsItself', 'with jargon', withPanel({ title: 'TTFT' }), '"TTFT" is for the initiated'],
  ['hasShortTitles', 'with a long title', withPanel({ title: 'Stale '.repeat(15) }), 'a long title'],
]

describe('the rules over dashboards', () => {
  it.each(Object.entries(RULES))('%s says nothing about a good one', (_name, rule) => {
    expect(rule(GOOD)).toEqual([])
  })

  it.each(BROKEN)('%s objects to one %s', (name, _what, dashboard, message) => {
    expect(RULES[name]?.(dashboard).join('\n')).toContain(message)
  })

  it('are all tried on something that breaks them', () => {
    expect(Object.keys(RULES).filter((name) => !BROKEN.some(([rule]) => rule === name))).toEqual([])
  })
})

function overlay(expr: string): Dashboard {
  return { ...GOOD, annotations: { list: [{ ...OVERLAY, expr }] } }
}

function unit(name: string): Dashboard {
  return withPanel({ fieldConfig: { defaults: { unit: name }, overrides: [] } })
}

function withDefaults(type: string, defaults: NonNullable<Panel['fieldConfig']>['defaults']): Dashboard {
  return withPanel({ type, fieldConfig: { defaults, overrides: [] } })
}

function coloured(...colours: string[]): Dashboard {
  const overrides = colours.map((fixedColor, i) => ({
    matcher: { id: 'byRegexp', options: `/${i}/` },
    properties: [{ id: 'color', value: { mode: 'fixed', fixedColor } }],
  }))
  return withPanel({ fieldConfig: { defaults: { unit: 'short' }, overrides } })
}

function limited(mode: string, description: string): Dashboard {
  const steps = [
    { value: null, color: 'green' },
    { value: 1, color: 'red' },
  ]
  const defaults = { unit: 'short', thresholds: { steps }, custom: { thresholdsStyle: { mode } } }
  return withPanel({ description, fieldConfig: { defaults, overrides: [] } })
}

function linked(url: string): Dashboard {
  return withPanel({ links: [{ title: 'Somewhere', url }] })
}
