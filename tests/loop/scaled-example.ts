/** The example's own routes and inhibitions, its times divided, and every receiver one webhook. */

import { scaledTime } from './scaled-pack.ts'

export function scaledExample(example: string, receiverUrl: string, divisor: number): string {
  return example
    .replace(/^( *(?:- )?url:) .*$/gm, `$1 ${receiverUrl}`)
    .replace(/^( *(?:group_wait|group_interval|repeat_interval):) (\S+)/gm, (_, key: string, time: string) => {
      return `${key} ${scaledTime(time, divisor)}`
    })
}
