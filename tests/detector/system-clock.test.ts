import { uptime } from 'node:os'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../detector/system-clock.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

/** Uptime where `process` is what is given; vitest itself needs the real one again at once. */
function uptimeWith(process: unknown): number | null {
  vi.stubGlobal('process', process)
  try {
    return systemClock().uptimeMs()
  } finally {
    vi.unstubAllGlobals()
  }
}

const refuse = () => {
  throw new Error('Requires sys access to "osUptime"')
}

describe('the uptime of the system clock', () => {
  it('is that of the machine, in ms, on Linux', () => {
    const os = { uptime: () => 12.5 }
    const asked: string[] = []
    const getBuiltinModule = (name: string) => {
      asked.push(name)
      return os
    }
    expect(uptimeWith({ platform: 'linux', getBuiltinModule })).toBe(12_500)
    expect(asked).toEqual(['node:os'])
  })

  it.each([
    ['there is no process', undefined],
    ['the process is one of a bundler', { env: {}, browser: true }],
    ['the monotonic clock itself counts sleep', { platform: 'darwin', getBuiltinModule: () => ({ uptime: () => 1 }) }],
    ['modules cannot be asked for', { platform: 'linux' }],
    ['there is no such module', { platform: 'linux', getBuiltinModule: () => undefined }],
    ['modules are refused', { platform: 'linux', getBuiltinModule: refuse }],
    ['uptime is refused', { platform: 'linux', getBuiltinModule: () => ({ uptime: refuse }) }],
  ])('is not known where %s', (_, process) => {
    expect(uptimeWith(process)).toBe(null)
  })

  it('is not asked for in Deno, which would ask its user first', () => {
    vi.stubGlobal('Deno', {})
    expect(uptimeWith({ platform: 'linux', getBuiltinModule: () => ({ uptime: () => 1 }) })).toBe(null)
  })

  it.runIf(process.platform === 'linux')('is what Node says', () => {
    const before = uptime() * 1000
    const found = systemClock().uptimeMs() as number
    expect(found).toBeGreaterThanOrEqual(before)
    expect(found).toBeLessThanOrEqual(uptime() * 1000)
  })
})

describe('the other clocks of the machine', () => {
  it('are there without a process', () => {
    vi.stubGlobal('process', undefined)
    const clock = systemClock()
    vi.unstubAllGlobals()
    const before = performance.now()
    expect(clock.monoMs()).toBeGreaterThanOrEqual(before)
    expect(clock.monoMs()).toBeLessThanOrEqual(performance.now())
    expect(Math.abs(clock.wallMs() - Date.now())).toBeLessThan(60_000)
  })
})
