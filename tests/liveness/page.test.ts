import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { type LivenessServer, type LivenessWatch, serveLiveness } from '../../liveness/index.ts'
import type { ChannelView, NotifierView, UndeliveredMessage } from '../../notifier/view.ts'
import { launchChromium } from '../setup/chromium.ts'
import { type Fixture, fixture } from './manual-clock.ts'

const CODEX = { provider: 'codex', model: 'gpt-5.2-codex' }
const CLAUDE = { provider: 'claudeAgent', model: 'claude-opus-4-6' }
const HOSTILE = '<img src=x onerror="globalThis.pwned = true">'
const REFUSED = /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/

describe.skipIf(inject('missing').includes('chromium'))('the live page', () => {
  let browser: Browser
  let at: Fixture
  let server: LivenessServer
  let page: Page
  let complaints: string[]
  let requests: string[]

  beforeAll(async () => {
    browser = await launchChromium()
  })

  afterAll(async () => {
    await browser.close()
  })

  beforeEach(async () => {
    at = fixture({ notify: () => {} })
    server = await serveLiveness(at.watch, { port: 0 })
    page = await browser.newPage({ viewport: { width: 1200, height: 800 } })
    page.setDefaultTimeout(15_000)
    complaints = []
    requests = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('request', (request) => requests.push(request.url()))
  })

  afterEach(async () => {
    await page.close()
    await server.close()
    expect(complaints.filter((text) => !REFUSED.test(text))).toEqual([])
    expect(requests.filter((url) => !url.startsWith(`${server.url}/`))).toEqual([])
  })

  const row = (threadId: string) =>
    page.getByRole('listitem').filter({ has: page.locator('.thread').getByText(threadId, { exact: true }) })
  const threads = () => page.locator('#turns .thread').allTextContents()
  const open = () => page.goto(server.url)

  test('says so when no turn runs, and shows the next one by itself', async () => {
    await open()
    await page.getByText('No turn is running').waitFor()
    at.watch.startTurn({ threadId: 'first', ...CODEX })
    await row('first').waitFor()
    expect(await page.getByText('No turn is running').isVisible()).toBe(false)
    at.watch.observe('first', { kind: 'turn.ended', outcome: 'completed' })
    await page.getByText('No turn is running').waitFor()
    expect(await threads()).toEqual([])
  })

  test('shows every running turn with what it does, stale ones first', async () => {
    at.watch.startTurn({ threadId: 'sub.boss.worker', ...CODEX }).observe({ kind: 'token', stream: 'text' })
    at.pass(25)
    at.watch.startTurn({ threadId: 'quiet', ...CLAUDE }).observe({ kind: 'token', stream: 'text' })
    at.pass(95)
    at.watch.startTurn({ threadId: 'streams', ...CLAUDE })
    at.watch.startTurn({ threadId: 'boss', ...CLAUDE }).observe({ kind: 'tool.started', id: '1', name: 'Task' })
    at.watch.startTurn({ threadId: 'asks', ...CODEX }).observe({ kind: 'wait.started', id: 'w', reason: 'approval' })
    at.watch.observe('next', { kind: 'turn.requested' })
    at.pass(4)
    await open()
    await row('streams').waitFor()
    expect(await threads()).toEqual(['sub.boss.worker', 'quiet', 'asks', 'streams', 'boss', 'next'])

    const stale = row('sub.boss.worker')
    for (const text of [
      'stale',
      'boss',
      'gpt-5.2-codex',
      'codex',
      'silence',
      'mid-stream',
      '90 s',
      'default',
      '112.5 s',
    ])
      expect(await stale.textContent()).toContain(text)
    await stale.getByText('124 s', { exact: true }).waitFor()
    await row('quiet').locator('.seconds').getByText('99 s', { exact: true }).waitFor()
    expect(await row('quiet').textContent()).toMatch(/suspect/)
    expect(await row('streams').textContent()).toMatch(/running.*first-token/s)
    expect(await row('boss').textContent()).toMatch(/tool.*Task/s)
    expect(await row('asks').textContent()).toMatch(/waiting.*approval/s)
    expect(await row('next').textContent()).toMatch(/requested.*not started/s)
    expect(await page.getByRole('button', { name: /^\d+ / }).allTextContents()).toEqual([
      '6 all',
      '1 stale',
      '1 suspect',
      '1 waiting',
      '1 running',
      '1 tool',
      '1 requested',
    ])
    expect(await page.title()).toBe('(1 stale) turnwatch')
  })

  test('the parent shows what it was told, newest first', async () => {
    at.watch.startTurn({ threadId: 'boss', ...CLAUDE }).observe({ kind: 'tool.started', id: '1', name: 'Task' })
    at.watch.startTurn({ threadId: 'sub.boss.one', ...CODEX }).observe({ kind: 'exit' })
    at.pass(1)
    at.watch.startTurn({ threadId: 'sub.boss.two', ...CODEX }).observe({ kind: 'error', message: 'overloaded' })
    await open()
    const boss = row('boss')
    await boss
      .locator('.message')
      .getByText(/sub\.boss\.two.*overloaded/)
      .waitFor()
    expect(await boss.getByText(/sub\.boss\.one/).isVisible()).toBe(false)
    await boss.getByText('1 earlier message').click()
    await boss.getByText(/sub\.boss\.one.*provider-dead/).waitFor()
    at.watch.startTurn({ threadId: 'sub.boss.three', ...CODEX }).observe({ kind: 'exit' })
    await boss.getByText('2 earlier messages').waitFor()
    expect(await boss.getByText(/sub\.boss\.one/).isVisible(), 'the list that was opened stays open').toBe(true)
  })

  test('updates itself', async () => {
    const turn = at.watch.startTurn({ threadId: 'a', ...CODEX })
    turn.observe({ kind: 'token', stream: 'text' })
    at.pass(100)
    await open()
    await row('a').getByText('suspect', { exact: true }).waitFor()
    at.pass(20)
    await row('a').getByText('stale', { exact: true }).waitFor()
    await page.locator('#announcement').getByText('1 stale: a').waitFor({ state: 'attached' })
    turn.observe({ kind: 'token', stream: 'text' })
    await row('a').getByText('running', { exact: true }).waitFor()
    expect(await page.title()).toBe('turnwatch')
  })

  test('a running silence grows between two answers, one that is stopped does not', async () => {
    at.watch.startTurn({ threadId: 'grows', ...CODEX })
    at.watch.startTurn({ threadId: 'stopped', ...CODEX }).observe({ kind: 'tool.started', id: '1', name: 'Bash' })
    at.pass(10)
    await open()
    await row('grows').waitFor()
    // From here on no answer comes; the page gives up on one after several seconds.
    await page.route('**/api/prism/threads', () => {})
    await row('grows').locator('.seconds').getByText('12 s', { exact: true }).waitFor()
    expect(await row('stopped').locator('.seconds').textContent()).toBe('0 s')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  test('says since when the server is gone, keeps what it knew, and recovers by itself', async () => {
    at.watch.startTurn({ threadId: 'before', ...CODEX })
    await open()
    await row('before').waitFor()
    await page.getByText(/^live \d\d:\d\d:\d\d$/).waitFor()
    await server.close()
    const alert = page.getByRole('alert')
    await alert.getByText(/^No connection since \d\d:\d\d:\d\d\./).waitFor()
    expect(await threads()).toEqual(['before'])
    at = fixture()
    at.watch.startTurn({ threadId: 'after', ...CODEX })
    server = await serveLiveness(at.watch, { port: server.port })
    await row('after').waitFor()
    await alert.waitFor({ state: 'hidden' })
    expect(await threads()).toEqual(['after'])
    expect(complaints.length).toBeGreaterThan(0)
  })

  test('says what the server says when it cannot tell', async () => {
    at.watch.startTurn({ threadId: 'a', ...CODEX })
    await open()
    await row('a').waitFor()
    await page.route('**/api/prism/threads', (route) =>
      route.fulfill({ status: 503, json: { error: 'stream clock unavailable' } }),
    )
    await page.getByRole('alert').getByText('The server says: stream clock unavailable.').waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByRole('alert').waitFor({ state: 'hidden' })
    complaints = complaints.filter((text) => !text.includes('503'))
  })

  test('shows hostile names as the text that they are', async () => {
    const turn = at.watch.startTurn({ threadId: `sub.${HOSTILE}.x`, provider: HOSTILE, model: HOSTILE })
    at.watch.startTurn({ threadId: HOSTILE, turnId: HOSTILE, ...CODEX })
    at.watch.observe(HOSTILE, { kind: 'tool.started', id: HOSTILE, name: HOSTILE })
    at.watch.startTurn({ threadId: '__proto__', ...CODEX })
    turn.observe({ kind: 'error', message: HOSTILE })
    await open()
    await row(HOSTILE).waitFor()
    expect((await threads()).sort()).toEqual([HOSTILE, '__proto__', `sub.${HOSTILE}.x`])
    expect(await row(HOSTILE).locator('.what').textContent()).toBe(HOSTILE)
    expect(await row(HOSTILE).locator('.message').textContent()).toContain('"sub.\\u003cimg src\\u003dx onerror\\u003d')
    expect(await row(`sub.${HOSTILE}.x`).locator('.model').textContent()).toBe(HOSTILE + HOSTILE)
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.evaluate('globalThis.pwned')).toBeUndefined()
  })

  test('tells assistive technology the silence, its limit and the state', async () => {
    at.watch.startTurn({ threadId: 'a', ...CODEX }).observe({ kind: 'token', stream: 'text' })
    at.pass(100)
    await open()
    const list = page.getByRole('list', { name: 'Turns, riskiest first' })
    const meter = list.getByRole('listitem').getByRole('meter', { name: 'Silence of a' })
    await meter.waitFor()
    expect(await meter.getAttribute('aria-valuemin')).toBe('0')
    expect(await meter.getAttribute('aria-valuemax')).toBe('135')
    expect(await meter.getAttribute('aria-valuetext')).toMatch(/^\d+ s, threshold 90 s \(default\), stale 112\.5 s$/)
    expect(Number(await meter.getAttribute('aria-valuenow'))).toBeGreaterThanOrEqual(100)
    expect(await page.evaluate('document.documentElement.lang')).toBe('en')
  })

  test('filters by keyboard: by words, and by state', async () => {
    at.watch.startTurn({ threadId: 'alpha', ...CODEX })
    at.watch.startTurn({ threadId: 'beta', ...CLAUDE }).observe({ kind: 'tool.started', id: '1' })
    await open()
    await row('alpha').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type('CLAUDE')
    await row('alpha').waitFor({ state: 'detached' })
    expect(await threads()).toEqual(['beta'])
    await page.keyboard.press('Control+A')
    await page.keyboard.press('Delete')
    await row('alpha').waitFor()
    const tool = page.getByRole('button', { name: '1 tool' })
    await tool.focus()
    await page.keyboard.press('Enter')
    await row('alpha').waitFor({ state: 'detached' })
    expect(await tool.getAttribute('aria-pressed')).toBe('true')
    await page.keyboard.press('Space')
    await row('alpha').waitFor()
    expect(await tool.getAttribute('aria-pressed')).toBe('false')
  })

  test('a threshold that is switched off is shown as none', async () => {
    await server.close()
    at = fixture({ thresholds: { firstTokenMs: Number.POSITIVE_INFINITY } })
    server = await serveLiveness(at.watch, { port: 0 })
    at.watch.startTurn({ threadId: 'a', ...CODEX })
    at.pass(500)
    await open()
    await row('a').getByText('no threshold').waitFor()
    expect(await row('a').textContent()).toContain('running')
  })

  test('a thousand turns keep their rows, and a phone needs no sideways scrolling', async () => {
    for (let i = 0; i < 1000; i++) at.watch.startTurn({ threadId: `thread-${i}-${'x'.repeat(80)}`, ...CODEX })
    await page.setViewportSize({ width: 400, height: 800 })
    await open()
    await page.getByRole('button', { name: '1000 all' }).waitFor()
    await page.evaluate('for (const row of document.querySelectorAll("#turns > li")) row.kept = true')
    at.pass(130)
    at.watch.startTurn({ threadId: 'late', ...CODEX })
    await page.getByRole('button', { name: '1001 all' }).waitFor()
    expect(await page.evaluate('[...document.querySelectorAll("#turns > li")].filter((row) => row.kept).length')).toBe(
      1000,
    )
    expect((await threads()).at(-1)).toBe('late')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(400)
  })

  test('moves rows as their risk changes', async () => {
    const turns = ['a', 'b', 'c', 'd'].map((threadId) => at.watch.startTurn({ threadId, ...CODEX }))
    at.pass(60)
    await open()
    await row('d').waitFor()
    expect(await threads()).toEqual(['a', 'b', 'c', 'd'])
    turns[0]?.observe({ kind: 'token', stream: 'text' })
    await expect.poll(threads, { timeout: 15_000 }).toEqual(['b', 'c', 'd', 'a'])
    turns[2]?.observe({ kind: 'error' })
    await expect.poll(threads, { timeout: 15_000 }).toEqual(['c', 'b', 'd', 'a'])
  })

  test.each(['light', 'dark'] as const)('text has enough contrast in %s mode', async (colorScheme) => {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    at.watch.startTurn({ threadId: 'sub.boss.gone', ...CODEX }).observe({ kind: 'exit' })
    at.watch.startTurn({ threadId: 'boss', ...CLAUDE }).observe({ kind: 'tool.started', id: '1', name: 'Task' })
    at.watch.startTurn({ threadId: 'asks', ...CODEX }).observe({ kind: 'wait.started', id: 'w', reason: 'input' })
    at.watch.startTurn({ threadId: 'runs', ...CODEX })
    await open()
    await row('runs').waitFor()
    const ratios = (await page.evaluate(CONTRASTS)) as [string, number][]
    expect(ratios.length).toBeGreaterThan(30)
    expect(ratios.filter(([, ratio]) => ratio < 4.5)).toEqual([])
    expect(await page.evaluate('getComputedStyle(document.querySelector(".fill")).transitionDuration')).toBe('0s')
  })

  describe('messages that have not arrived', () => {
    let notifications: NotifierView

    beforeEach(async () => {
      notifications = { channels: [], messages: [] }
      await server.close()
      server = await serveLiveness(
        telling(at, () => notifications),
        { port: 0 },
      )
    })

    const section = () => page.getByRole('region', { name: 'Messages' })
    const channels = () => section().getByRole('list', { name: 'Channels' }).getByRole('listitem').allInnerTexts()
    const listed = () => section().getByRole('list', { name: 'Undelivered messages' }).getByRole('listitem')
    /** The words of the nth message as they are seen and read out, however they are laid out. */
    const words = async (n: number) => (await listed().allInnerTexts())[n]?.replace(/\s+/g, ' ')
    /** Whether the page is wider than the window, and the elements of the section that reach beyond it. */
    const beyond = () =>
      page.evaluate(`[
        document.documentElement.scrollWidth - innerWidth,
        ...[...document.querySelectorAll('#messages *')]
          .filter((e) => e.checkVisibility() && !e.closest('.unseen') && e.parentElement.clientWidth > 0)
          .filter((e) => getComputedStyle(e).display !== 'inline' && e.getBoundingClientRect().right > innerWidth)
          .map((e) => e.className),
      ]`)

    test('one that waits is shown with its tries, its last failure and the next try', async () => {
      notifications = {
        channels: [channel({ pending: 2, oldestPendingMs: 63_000, failing: '503 Service Unavailable' })],
        messages: [
          message({
            since: '2026-01-05T07:59:00.000Z',
            attempts: 4,
            failure: '503 Service Unavailable',
            nextTryAt: '2026-01-05T08:01:03.000Z',
          }),
          message({ thread: 'sub.boss.two', key: 'stale/sub.boss.two/t1/1', parent: null }),
        ],
      }
      await open()
      await section().waitFor()
      expect((await channels()).join()).toMatch(
        /^webhook\s+2 pending, oldest 1 m 0\d s\s+failing: 503 Service Unavailable$/,
      )
      expect(await words(0)).toMatch(
        /^pending sub.boss.one to be told: boss channel webhook last failure 503 Service Unavailable 4 tries next in (1 m 00|5\d) s since \d\d:59:00 1 m 0\d s ago$/,
      )
      expect(await words(1)).toMatch(
        /^pending sub.boss.two channel webhook last failure none yet not tried trying now since \d\d:00:00 \d s ago$/,
      )
    })

    test('ages and the time to the next try run between two answers', async () => {
      notifications = {
        channels: [channel({ pending: 1, oldestPendingMs: 3000 })],
        messages: [message({ attempts: 1, failure: 'timeout', nextTryAt: '2026-01-05T08:00:05.000Z' })],
      }
      await open()
      await section().getByText('next in 2 s').waitFor()
      // From here on no answer comes; the page gives up on one after several seconds.
      await page.route('**/api/prism/threads', () => {})
      await section().getByText('1 pending, oldest 6 s').waitFor()
      await listed().getByText('6 s ago').waitFor()
      await listed().getByText('next try is due').waitFor()
      await page.unrouteAll({ behavior: 'ignoreErrors' })
    })

    test('a dead one is shown with its reason, and told to assistive technology', async () => {
      notifications = {
        channels: [channel({ dead: 1 })],
        messages: [message({ state: 'dead', attempts: 31, failure: 'expired' })],
      }
      await open()
      await section().waitFor()
      expect((await channels()).join()).toMatch(/^webhook\s+1 dead$/)
      expect(await words(0)).toMatch(
        /^dead sub.boss.one to be told: boss channel webhook last failure expired 31 tries given up /,
      )
      expect(await page.getByRole('status').allInnerTexts()).toContain('Messages: 1 dead')
    })

    test('without any there is no such section, and it goes when the last one has arrived', async () => {
      notifications = { channels: [channel({})], messages: [] }
      at.watch.startTurn({ threadId: 'runs', ...CODEX })
      await open()
      await row('runs').waitFor()
      expect(await section().isVisible()).toBe(false)
      expect(
        await page
          .getByText(/messages/i)
          .filter({ visible: true })
          .count(),
      ).toBe(0)
      notifications = { channels: [channel({ pending: 1, failing: 'timeout' })], messages: [message({})] }
      await listed().getByText('sub.boss.one').waitFor()
      notifications = { channels: [channel({ failing: 'timeout' })], messages: [] }
      await listed().getByText('sub.boss.one').waitFor({ state: 'detached' })
      expect((await channels()).join()).toMatch(/^webhook\s+failing: timeout$/)
      expect(await section().getByText('Last failure').isVisible()).toBe(false)
      notifications = { channels: [channel({})], messages: [] }
      await section().waitFor({ state: 'hidden' })
      expect(await row('runs').isVisible()).toBe(true)
    })

    test('the first five stand open, the others on request by keyboard, and those beyond the list are counted', async () => {
      const many = Array.from({ length: 50 }, (_, i) => message({ key: `stale/${i}`, thread: `thread-${i}` }))
      const dead = many.map((one) => message({ ...one, channel: 't3', state: 'dead', failure: 'gone' }))
      notifications = {
        channels: [
          channel({ pending: 70, failing: 'timeout' }),
          channel({ name: 't3', dead: 51 }),
          channel({ name: 'ok' }),
        ],
        messages: [...many, ...dead],
      }
      await open()
      await section().getByText('21 more are not listed.').waitFor()
      expect((await channels()).length).toBe(2)
      expect(await listed().locator('.child').allInnerTexts()).toEqual(many.slice(0, 5).map(({ thread }) => thread))
      await section().getByText('Show all 100').focus()
      await page.keyboard.press('Enter')
      await listed().nth(99).waitFor()
      notifications = { channels: notifications.channels, messages: notifications.messages.slice(1) }
      await section().getByText('Show all 99').waitFor()
      expect(await listed().locator('.child').allInnerTexts(), 'the list that was opened stays open').toEqual(
        [...many, ...dead].slice(1).map(({ thread }) => thread),
      )
      expect(await page.evaluate('document.activeElement.textContent'), 'and keeps the focus').toBe('Show all 99')
      notifications = { channels: [channel({ pending: 5 })], messages: many.slice(0, 5) }
      await section()
        .getByText(/Show all/)
        .waitFor({ state: 'hidden' })
    })

    test('two channels may carry the same message; what is selected of one stays selected when it dies', async () => {
      const channels = [channel({ pending: 1 }), channel({ name: 't3', pending: 1 })]
      notifications = { channels, messages: [message({}), message({ channel: 't3' })] }
      await open()
      await listed().nth(1).locator('.child').selectText()
      notifications = { channels, messages: [message({}), message({ channel: 't3', state: 'dead' })] }
      await listed().nth(1).getByText('dead').waitFor()
      expect(await listed().locator('.by').allInnerTexts()).toEqual(['webhook', 't3'])
      expect(await page.evaluate('String(getSelection())')).toBe('sub.boss.one')
    })

    const BIDI = '\u202e\u2067evil\u05d0\u05d1 txt.exe'
    const LONG = 'x'.repeat(10_000)
    const WORDS = 'word\n'.repeat(10_000)

    test.each([
      ['markup', 1200, HOSTILE],
      ['markup', 320, HOSTILE],
      ['direction marks', 1200, BIDI],
      ['direction marks', 320, BIDI],
      ['ten thousand letters', 1200, LONG],
      ['ten thousand letters', 700, LONG],
      ['ten thousand letters', 320, LONG],
      ['ten thousand words', 1200, WORDS],
      ['ten thousand words', 700, WORDS],
      ['ten thousand words', 320, WORDS],
    ])('%s in every name and reason are text that keeps to its place, %i wide', async (_, width, text) => {
      const plain = { attempts: 3, failure: 'timeout' }
      const hostile = { ...plain, thread: text, parent: text, channel: text, failure: text }
      notifications = {
        channels: [channel({ name: text, pending: 2, dead: 1, failing: text }), channel({ pending: 1 })],
        messages: [message(plain), message({ ...hostile, key: text }), message({ ...hostile, state: 'dead' })],
      }
      await page.setViewportSize({ width, height: 800 })
      await open()
      await listed().nth(2).waitFor()
      for (const part of ['.child', '.receiver-id', '.by', '.failure']) {
        expect(await listed().nth(1).locator(part).textContent(), part).toBe(text)
      }
      expect(await section().locator('.channel-name').first().textContent()).toBe(text)
      expect(await section().locator('.failing').first().textContent()).toBe(`failing: ${text}`)
      expect(await page.locator('img').count()).toBe(0)
      expect(await page.evaluate('globalThis.pwned')).toBeUndefined()

      expect(await beyond()).toEqual([0])
      for (const part of ['.badge', '.child', '.tries', '.since']) {
        const [a, b] = await Promise.all([0, 1].map((i) => listed().nth(i).locator(part).boundingBox()))
        expect(b?.x, part).toBe(a?.x)
      }
      expect((await listed().nth(1).boundingBox())?.height).toBeLessThan(240)
      const failure = await listed().nth(1).locator('.failure').boundingBox()
      if (text.length > 1000) expect(failure?.height, 'a long reason takes more than one line').toBeGreaterThan(30)
      expect((await section().getByRole('list', { name: 'Channels' }).boundingBox())?.height).toBeLessThan(90)
      for (const seenText of ['2 pending, oldest', '1 dead']) {
        expect(await section().getByText(seenText).isVisible(), seenText).toBe(true)
      }
    })

    test.each(['light', 'dark'] as const)('they have enough contrast in %s mode', async (colorScheme) => {
      await page.emulateMedia({ colorScheme })
      notifications = {
        channels: [channel({ pending: 2, failing: 'timeout' }), channel({ name: 't3', dead: 1 })],
        messages: [message({}), message({ key: 'b', failure: 'timeout' }), message({ channel: 't3', state: 'dead' })],
      }
      await open()
      await listed().nth(2).waitFor()
      const ratios = (await page.evaluate(CONTRASTS)) as [string, number][]
      expect(ratios.length).toBeGreaterThan(30)
      expect(ratios.filter(([, ratio]) => ratio < 4.5)).toEqual([])
    })
  })
})

/** The watch of a fixture whose notifier says what a test wants. */
function telling({ watch }: Fixture, notifications: () => NotifierView): LivenessWatch {
  return {
    liveness: (threadId) => watch.liveness(threadId),
    threads: () => watch.threads(),
    notifications,
    now: () => watch.now(),
    tickLateMs: () => watch.tickLateMs(),
    self: watch.self,
    metrics: (options) => watch.metrics(options),
  }
}

function channel(given: Partial<ChannelView>): ChannelView {
  return { name: 'webhook', pending: 0, oldestPendingMs: 0, dead: 0, failing: null, ...given }
}

function message(given: Partial<UndeliveredMessage>): UndeliveredMessage {
  return {
    key: 'stale/sub.boss.one/t1/1',
    thread: 'sub.boss.one',
    parent: 'boss',
    channel: 'webhook',
    state: 'pending',
    since: '2026-01-05T08:00:00.000Z',
    attempts: 0,
    failure: null,
    nextTryAt: null,
    ...given,
  }
}

/** The contrast of each visible text with the nearest ground behind it, as WCAG 2 defines it. */
const CONTRASTS = `(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number)
  const luminance = (color) => {
    const [r, g, b] = numbers(color).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor
      if (numbers(color)[3] !== 0) return color
    }
    return 'rgb(255, 255, 255)'
  }
  return [...document.querySelectorAll('body *')]
    .filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== ''))
    .map((element) => {
      const [a, b] = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((x, y) => y - x)
      return [element.className + ': ' + element.textContent.slice(0, 40), (a + 0.05) / (b + 0.05)]
    })
})()`
