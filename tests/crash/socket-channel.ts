/** A webhook on a bare socket, which loads in no time; the store knows it as the package's own, so both take over from each other. */

import { connect } from 'node:net'
import { type Channel, DeliveryFailed } from '../../notifier/channel.ts'
import type { ChannelPlan } from './host-plan.ts'
import { failureOf } from './kill-points.ts'

export function socketChannel({ name, target, url }: ChannelPlan, run: string): Channel {
  const { hostname, port, pathname } = new URL(url)
  return {
    name,
    target,
    deliver(message, { key, signal }) {
      const body = Buffer.from(JSON.stringify(message))
      const head = [
        `POST ${pathname} HTTP/1.1`,
        `host: ${hostname}:${port}`,
        'connection: close',
        `content-length: ${body.length}`,
        `webhook-id: ${key}`,
        `x-run: ${run}`,
      ]
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const socket = connect(Number(port), hostname)
      let answer = ''
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      socket.write(body)
      socket.on('data', (chunk) => {
        answer += chunk
        const [, status] = /^HTTP\/1\.1 (\d{3}) [\s\S]*\r\n\r\n/.exec(answer) ?? []
        if (status === undefined) return
        if (status === '200') resolve()
        else reject(failureOf(status === '429' ? 'too many' : 'error'))
        socket.destroy()
      })
      socket.on('error', () => {})
      socket.on('close', () => reject(failureOf('reset')))
      signal.addEventListener('abort', () => {
        reject(new DeliveryFailed('timeout', 'no answer in time'))
        socket.destroy()
      })
      return promise
    },
  }
}
