/**
 * A provider on loopback that follows a script for each request, in the wire format it is asked in, and notes when each
 * request was closed, and by whom.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { anthropic } from '../agents/provider/anthropic.ts'
import { chat } from '../agents/provider/chat.ts'
import { responses } from '../agents/provider/responses.ts'
import type { Frame, Stream, Wire } from '../agents/provider/wire.ts'
import { aiGateway } from './ai-gateway-wire.ts'

const WIRES: readonly Wire[] = [anthropic, responses, chat, aiGateway]

/** `served`: the answer was over; `refused` and `cut`: by the provider; `left`: by whoever asked, before it was over. */
type Ended = 'served' | 'refused' | 'cut' | 'left'

interface ProviderRequest {
  readonly path: string
  readonly body: unknown
  ended: Ended | null
}

/** An answer under way, as its steps see it. */
interface Answer {
  readonly wire: Wire
  readonly response: ServerResponse
  /** Aborted once nobody listens. */
  readonly left: AbortSignal
  /** The stream; the headers and what begins every answer go out before the first of it. */
  open(): Stream
  send(frame: Frame | 'comment'): void
}

/** One thing that the provider does. What it returns ends the answer. */
export type Step = (answer: Answer) => Ended | undefined | Promise<Ended | undefined>

const step =
  (work: (answer: Answer) => unknown): Step =>
  async (answer) => {
    await work(answer)
    return undefined
  }

/** The headers, and what begins every answer: nothing of content. */
export const begin = step(({ open }) => open())
export const say = (text: string) => step(({ open }) => open().say(text))
export const call = (name: string, args: object) =>
  step(({ open }) => {
    open().call({ name, arguments: JSON.stringify(args) })
    open().argue(JSON.stringify(args))
  })
export const wait = (ms: number) => step(({ left }) => sleep(ms, undefined, { signal: left }))
/** Nothing more, and it does not close; nothing at all where it is the first step. */
export const hang = step(({ left }) => sleep(2 ** 31 - 1, undefined, { signal: left }))
/** Nothing of the model, but what keeps connections alive in this wire format: comments, or `ping` events. */
export const keepAlive = (everyMs: number) =>
  step(async ({ open, left }) => {
    for (;;) {
      open().keepAlive()
      await sleep(everyMs, undefined, { signal: left })
    }
  })
export const refuse =
  (status: number): Step =>
  ({ response, wire }) => {
    response
      .writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' })
      .end(JSON.stringify(wire.refusal(status)))
    return 'refused'
  }
/** An event as it is, such as one that says that the answer failed. */
export const send = (event: string, fields: object = {}) =>
  step((answer) => {
    answer.open()
    answer.send({ event, data: { type: event, ...fields } })
  })
/** The connection ends in the middle of the answer. */
export const cut: Step = ({ response }) => {
  response.destroy()
  return 'cut'
}
/** The stream is closed as it is. */
export const close: Step = ({ response }) => {
  response.end()
  return 'served'
}

export interface LoopbackProvider extends AsyncDisposable {
  /** Without a path. */
  readonly url: string
  readonly requests: readonly ProviderRequest[]
  /** Until the nth request, from 1, was closed. */
  ended(nth: number): Promise<Ended>
}

/** Requests after the last script get that one again. A script that ends is ended as the wire ends a good answer. */
export async function startLoopbackProvider(...scripts: readonly (readonly Step[])[]): Promise<LoopbackProvider> {
  const requests: ProviderRequest[] = []
  const server = createServer(async (incoming, response) => {
    const path = new URL(incoming.url ?? '', 'http://provider').pathname
    const wire = WIRES.find((one) => path.endsWith(one.path))
    if (wire === undefined) return void response.writeHead(404).end()
    const request: ProviderRequest = { path, body: await json(incoming), ended: null }
    const nth = requests.push(request) - 1
    const script = scripts[Math.min(nth, scripts.length - 1)] ?? []
    request.ended = await play(script, wire, request, nth, incoming, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async ended(nth) {
      for (;;) {
        const ended = requests[nth - 1]?.ended
        if (ended) return ended
        await sleep(5)
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function play(
  script: readonly Step[],
  wire: Wire,
  { body }: ProviderRequest,
  nth: number,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<Ended> {
  const left = new AbortController()
  incoming.on('error', () => {})
  response.on('close', () => left.abort())
  let stream: Stream | undefined
  const send = (frame: Frame | 'comment') => {
    if (frame === 'comment') return void response.write(': keep-alive\n\n')
    const name = frame.event === undefined ? '' : `event: ${frame.event}\n`
    response.write(`${name}data: ${typeof frame.data === 'string' ? frame.data : JSON.stringify(frame.data)}\n\n`)
  }
  const open = () => {
    if (stream === undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
      stream = wire.open(body as never, nth, send)
    }
    return stream
  }
  try {
    for (const one of script) {
      const ended = await one({ wire, response, left: left.signal, open, send })
      if (ended !== undefined) return ended
    }
    open().end()
    response.end()
    return 'served'
  } catch (error) {
    if (!left.signal.aborted) throw error
    return 'left'
  }
}
