import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { countsLine } from '../../docs/counts.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

it('the README counts rules and dashboards as its command does', () => {
  expect(readme.replace(/\s+/g, ' ')).toContain(countsLine())
})
