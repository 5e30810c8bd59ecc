/** Serves dashboards as pages: `/d/<uid>?from=…&to=…&var-…=…`, as Grafana does. Loopback only. */

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Theme } from './colours.ts'
import type { Dashboard } from './dashboard.ts'
import { viewOf } from './view.ts'

export interface PreviewOptions {
  /** Address of the Prometheus that is asked. */
  readonly prometheus: string
  readonly dashboards: readonly Dashboard[]
  /** The time shown where the address says nothing, in epoch ms. @default the last 3 hours */
  readonly range?: { readonly fromMs: number; readonly toMs: number }
  /** @default 'light' */
  readonly theme?: Theme
  /** @default any free one */
  readonly port?: number
}

export interface Preview extends AsyncDisposable {
  /** Without a slash at its end. */
  readonly url: string
}

const HTML = 'text/html; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const JAVASCRIPT = 'text/javascript; charset=utf-8'
const JSON_TYPE = 'application/json'
const RANGE_MS = 10_800_000
const UPLOT = new URL('.', import.meta.resolve('uplot'))

const FILES: Readonly<Record<string, readonly [URL, string]>> = {
  '/page/page.css': [pageFile('page.css'), CSS],
  '/page/page.js': [pageFile('page.js'), JAVASCRIPT],
  '/page/graph.js': [pageFile('graph.js'), JAVASCRIPT],
  '/page/panels.js': [pageFile('panels.js'), JAVASCRIPT],
  '/page/element.js': [pageFile('element.js'), JAVASCRIPT],
  '/uplot.js': [new URL('uPlot.esm.js', UPLOT), JAVASCRIPT],
  '/uplot.css': [new URL('uPlot.min.css', UPLOT), CSS],
}

export async function servePreview(options: PreviewOptions): Promise<Preview> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    answer(url, options).then(
      ([type, body]) => response.writeHead(200, { 'content-type': type }).end(body),
      (error: Error) => response.writeHead(500, { 'content-type': 'text/plain' }).end(error.message),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(url: URL, options: PreviewOptions): Promise<readonly [type: string, body: string]> {
  const { dashboards, prometheus, theme } = options
  const { pathname, searchParams } = url
  const file = FILES[pathname]
  if (file !== undefined) return [file[1], readFileSync(file[0], 'utf8')]
  if (pathname === '/') {
    return [HTML, dashboards.map(({ uid, title }) => `<p><a href="/d/${uid}">${title}</a></p>`).join('\n')]
  }
  const [, kind, uid] = pathname.split('/')
  const dashboard = dashboards.find((one) => one.uid === uid)
  if (dashboard === undefined) throw new Error(`${pathname}: there is no such page`)
  if (kind === 'd') return [HTML, readFileSync(pageFile('index.html'), 'utf8')]
  const toMs = Number(searchParams.get('to') ?? options.range?.toMs ?? Date.now())
  const fromMs = Number(searchParams.get('from') ?? options.range?.fromMs ?? toMs - RANGE_MS)
  const view = await viewOf(dashboard, {
    prometheus,
    fromMs,
    toMs,
    others: dashboards,
    chosen: chosenOf(searchParams),
    ...(theme === undefined ? {} : { theme }),
  })
  return [JSON_TYPE, JSON.stringify(view)]
}

function chosenOf(parameters: URLSearchParams): Map<string, string[]> {
  const chosen = new Map<string, string[]>()
  for (const key of new Set(parameters.keys())) {
    if (key.startsWith('var-')) chosen.set(key.slice(4), parameters.getAll(key))
  }
  return chosen
}

function pageFile(name: string): URL {
  return new URL(`./page/${name}`, import.meta.url)
}

/** The dashboards that lie built beside this folder. */
export function builtDashboards(uids: readonly string[]): Dashboard[] {
  return uids.map((uid) => {
    const file = fileURLToPath(new URL(`../${uid}.json`, import.meta.url))
    return JSON.parse(readFileSync(file, 'utf8')) as Dashboard
  })
}
