/** What a channel must be like, whoever made it. Errors never quote a name that could be a URL. */

import type { Channel } from './channel.ts'

/** Throws TypeError for a name that cannot be a label, or that looks like a URL, which may hold a secret. */
export function channelName(name: string): string {
  if (typeof name !== 'string' || !/^\P{Cc}{1,100}$/u.test(name) || name.trim() === '' || name.includes('://')) {
    throw new TypeError('name: is not 1 to 100 characters without control characters, and not a URL')
  }
  return name
}

/** Throws TypeError or RangeError with the channel's name, the option and the value. */
export function refuseBadChannel(channel: Channel): void {
  const name = channelName(channel.name)
  const { target, concurrency, timeoutMs, repeatMs, needsParent, close } = channel
  const refuse = (option: string, value: unknown, allowed: string) => {
    throw new TypeError(`${name}.${option}: ${shown(value)} is not ${allowed}`)
  }
  if (target !== undefined && typeof target !== 'string') refuse('target', target, 'a string')
  if (needsParent !== undefined && typeof needsParent !== 'boolean') refuse('needsParent', needsParent, 'true or false')
  if (close !== undefined && typeof close !== 'function') refuse('close', close, 'a function')
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new RangeError(`${name}.concurrency: ${shown(concurrency)} is not a whole number from 1 on`)
  }
  for (const [option, value] of Object.entries({ timeoutMs, repeatMs })) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 1)) {
      throw new RangeError(`${name}.${option}: ${shown(value)} is not a number of ms from 1 on`)
    }
  }
}

/** A value as an error shows it; what could hold a secret, or hide one, by its kind. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.includes('://') ? 'a URL' : JSON.stringify(value.slice(0, 80))
  if (value === null || typeof value !== 'object') return typeof value === 'function' ? 'a function' : String(value)
  return Array.isArray(value) ? 'an array' : 'an object'
}
