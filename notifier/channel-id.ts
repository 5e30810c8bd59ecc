/**
 * How a channel is known to a store that several processes share: by its receiver where it tells, because the next process
 * may give the same name to another one, or another name to the same.
 */

import type { Channel } from './channel.ts'

export function channelId({ name, target }: Channel): string {
  return target ? `#${target}` : name
}
