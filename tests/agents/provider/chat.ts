/** The Chat Completions API: chunks of one choice, a last one with the usage; its keep-alives are comments. */

import type { ShellCall } from './shell-call.ts'
import { type Asked, OUTPUT_TOKENS, type Send, type Stream, type Wire } from './wire.ts'

const USAGE = { prompt_tokens: 100, completion_tokens: OUTPUT_TOKENS, total_tokens: 100 + OUTPUT_TOKENS }

export const chat: Wire = {
  path: '/chat/completions',
  open: (asked, nth, send) => new Completion(asked, nth, send),
  refusal: (status) => ({ error: { message: `scripted ${status}`, type: 'invalid_request_error', code: null } }),
}

class Completion implements Stream {
  readonly #nth: number
  readonly #send: Send
  readonly #head: object
  #reason: 'stop' | 'tool_calls' = 'stop'

  constructor({ model }: Asked, nth: number, send: Send) {
    this.#nth = nth
    this.#send = send
    const created = Math.floor(Date.now() / 1000)
    this.#head = { id: `chatcmpl-${nth}`, object: 'chat.completion.chunk', created, model }
    this.#delta({ role: 'assistant', content: '' })
  }

  say(content: string): void {
    this.#delta({ content })
  }

  think(reasoning_content: string): void {
    this.#delta({ reasoning_content })
  }

  call({ name }: ShellCall): void {
    this.#reason = 'tool_calls'
    const call = { index: 0, id: `call_${this.#nth}`, type: 'function', function: { name, arguments: '' } }
    this.#delta({ tool_calls: [call] })
  }

  argue(piece: string): void {
    this.#delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] })
  }

  keepAlive(): void {
    this.#send('comment')
  }

  end(): void {
    this.#chunk({ choices: [{ index: 0, delta: {}, finish_reason: this.#reason }] })
    this.#chunk({ choices: [], usage: USAGE })
    this.#send({ data: '[DONE]' })
  }

  #delta(delta: object): void {
    this.#chunk({ choices: [{ index: 0, delta, finish_reason: null }] })
  }

  #chunk(fields: object): void {
    this.#send({ data: { ...this.#head, ...fields } })
  }
}
