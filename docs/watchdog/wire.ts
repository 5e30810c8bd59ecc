/**
 * A server of streams on this machine, in a thread of its own, so that it sends while the other is busy. It plays the script
 * that a request carries.
 */

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/** Ms after the line before, and what is sent then. After the last one the connection is closed, unless that is `hang`. */
export type WireLine = readonly [afterMs: number, text: string]

export interface Wire {
  /** The address of a stream. */
  url(script: readonly WireLine[]): string
  close(): Promise<unknown>
}

export async function startWire(): Promise<Wire> {
  const worker = new Worker(new URL(import.meta.url))
  const port = await new Promise<number>((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return {
    url: (script) => `http://127.0.0.1:${port}/?script=${encodeURIComponent(JSON.stringify(script))}`,
    close: () => worker.terminate(),
  }
}

/** A chunk of a chat completion, as it is on the wire. */
export function chatChunk(content: string, finishReason: string | null = null): string {
  return sse({
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content }, finish_reason: finishReason }],
  })
}

export const sse = (event: object) => `data: ${JSON.stringify(event)}\n\n`

async function play(script: readonly WireLine[], response: ServerResponse): Promise<void> {
  for (const [afterMs, text] of script) {
    await delay(afterMs)
    if (text === 'hang') return
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text)
  }
  response.end()
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  const server = createServer(({ url }, response) => {
    const script = new URL(url ?? '', 'http://wire').searchParams.get('script')
    void play(JSON.parse(script ?? '[]') as WireLine[], response)
  })
  server.listen(0, '127.0.0.1', () => port.postMessage((server.address() as AddressInfo).port))
}
