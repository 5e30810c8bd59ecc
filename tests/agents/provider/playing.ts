/** One answer under way: its steps in the wire format it is asked in, each logged as it is done. */

import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProviderLog } from './log.ts'
import type { Answer, Step } from './scene.ts'
import { piecesOf, shellCall } from './shell-call.ts'
import type { Asked, Frame, Send, Stream, Wire } from './wire.ts'

/** Between two deltas of the model. */
const DELTA_MS = 100

export class Playing {
  readonly #wire: Wire
  readonly #asked: Asked
  readonly #nth: number
  readonly #response: ServerResponse
  readonly #log: ProviderLog
  readonly #left = new AbortController()
  #stream: Stream | undefined

  constructor(wire: Wire, asked: Asked, nth: number, response: ServerResponse, log: ProviderLog) {
    this.#wire = wire
    this.#asked = asked
    this.#nth = nth
    this.#response = response
    this.#log = log
    response.on('close', () => this.#left.abort())
  }

  async play(answer: Answer): Promise<void> {
    try {
      for (const step of answer) if (!(await this.#step(step))) return
      this.#open().end()
      this.#log.add('end', this.#nth)
      this.#response.end()
    } catch (error) {
      if (!this.#left.signal.aborted) throw error
      this.#log.add('left', this.#nth)
    }
  }

  /** False when nothing follows. */
  async #step(step: Step): Promise<boolean> {
    switch (step.do) {
      case 'say':
      case 'think':
        for (const delta of step.deltas) {
          this.#open()[step.do](delta)
          this.#log.add(step.do, this.#nth)
          await this.#wait(DELTA_MS)
        }
        return true
      case 'call': {
        const call = shellCall(this.#asked, step.command)
        this.#open().call(call)
        this.#log.add('call', this.#nth)
        for (const piece of piecesOf(call.arguments, step.pieces)) {
          await this.#wait(step.everyMs)
          this.#open().argue(piece)
          this.#log.add('argue', this.#nth)
        }
        return true
      }
      case 'pause':
        this.#open()
        this.#log.add('pause', this.#nth)
        await this.#pause(step.ms, step.keepAliveMs)
        return true
      case 'refuse':
        this.#log.add('refuse', this.#nth)
        this.#response
          .writeHead(step.status, {
            'content-type': 'application/json',
            ...(step.retryAfterS === null ? {} : { 'retry-after': `${step.retryAfterS}` }),
          })
          .end(JSON.stringify(this.#wire.refusal(step.status)))
        return false
      case 'cut':
        this.#open()
        this.#log.add('cut', this.#nth)
        this.#response.destroy()
        return false
      default:
        return step satisfies never
    }
  }

  async #pause(ms: number, keepAliveMs: number): Promise<void> {
    const until = performance.now() + ms
    for (;;) {
      const left = until - performance.now()
      if (left <= 0) return
      await this.#wait(Math.min(left, keepAliveMs > 0 ? keepAliveMs : 1000))
      if (keepAliveMs === 0) continue
      this.#open().keepAlive()
      this.#log.add('keep-alive', this.#nth)
    }
  }

  #open(): Stream {
    if (this.#stream === undefined) {
      this.#response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
      const send: Send = (frame) => void this.#response.write(frame === 'comment' ? ': keep-alive\n\n' : lines(frame))
      this.#stream = this.#wire.open(this.#asked, this.#nth, send)
    }
    return this.#stream
  }

  /** Throws when the agent has left. */
  async #wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#left.signal })
  }
}

function lines({ event, data }: Frame): string {
  const name = event === undefined ? '' : `event: ${event}\n`
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
}
