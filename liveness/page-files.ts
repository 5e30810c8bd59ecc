/** The files of the live page, as they lie in `page/`: no build step, nothing from the network. */

import { readFileSync } from 'node:fs'

export interface PageFile {
  readonly contentType: string
  readonly text: string
}

const CSS = 'text/css; charset=utf-8'
const JAVASCRIPT = 'text/javascript; charset=utf-8'

const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/theme.css': ['theme.css', CSS],
  '/page.css': ['page.css', CSS],
  '/row.css': ['row.css', CSS],
  '/narrow-row.css': ['narrow-row.css', CSS],
  '/messages.css': ['messages.css', CSS],
  '/page.js': ['page.js', JAVASCRIPT],
  '/row.js': ['row.js', JAVASCRIPT],
  '/messages.js': ['messages.js', JAVASCRIPT],
  '/text.js': ['text.js', JAVASCRIPT],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
} as const

/** By path. Throws the error of the file system when one is missing. */
export function readPageFiles(): ReadonlyMap<string, PageFile> {
  return new Map(
    Object.entries(FILES).map(([path, [name, contentType]]) => [
      path,
      { contentType, text: readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8') },
    ]),
  )
}

/** Scripts, styles and requests of this origin only; thread ids come from elsewhere. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
