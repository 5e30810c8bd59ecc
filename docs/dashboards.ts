/**
 * Takes the pictures of the dashboards: three hours of a fleet on virtual clocks, in a real Prometheus, drawn in Chromium.
 * Run `node docs/dashboards.ts`; it writes docs/dashboard-*.png. It needs Debian's prometheus and chromium.
 */

import { fileURLToPath } from 'node:url'
import { builtDashboards, servePreview } from '../dashboards/preview/server.ts'
import { DASHBOARD_UIDS } from '../rules/dashboard-link.ts'
import { launchChromium } from '../tests/setup/chromium.ts'
import { makeHistory } from './dashboards/history.ts'
import { HERO_THREAD } from './dashboards/scripted-turns.ts'
import { LONG_STORY as story } from './dashboards/story.ts'

const HOUR_MS = 3_600_000
/** What each picture shows, where it is not all of the story. */
const SHOWN: Readonly<Record<string, { readonly hours: number; readonly chosen: Record<string, string> }>> = {
  thread: { hours: 1, chosen: { 'var-thread': HERO_THREAD } },
}

await using history = await makeHistory(story)
const dashboards = builtDashboards(Object.values(DASHBOARD_UIDS))
await using preview = await servePreview({ prometheus: history.url, dashboards })
const browser = await launchChromium()
for (const [name, uid] of Object.entries(DASHBOARD_UIDS)) {
  const { hours, chosen } = SHOWN[name] ?? { hours: story.shownMs / HOUR_MS, chosen: {} }
  const range = { from: String(story.endMs - hours * HOUR_MS), to: String(story.endMs) }
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  await page.goto(`${preview.url}/d/${uid}?${new URLSearchParams({ ...range, ...chosen })}`)
  await page.locator('html[data-ready]').waitFor()
  const path = fileURLToPath(new URL(`./dashboard-${name}.png`, import.meta.url))
  await page.screenshot({ path, fullPage: true, animations: 'disabled' })
  await page.close()
}
await browser.close()
