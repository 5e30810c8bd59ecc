/** The Messages API of Anthropic: blocks in a message; its keep-alives are events. */

import { type Asked, OUTPUT_TOKENS, type Send, type Stream, type Wire } from './wire.ts'

const USAGE = { input_tokens: 12, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }

export const anthropic: Wire = {
  path: '/messages',
  open: (asked, nth, send) => new Message(asked, nth, send),
  refusal: (status) => ({
    type: 'error',
    error: { type: status === 529 ? 'overloaded_error' : 'invalid_request_error', message: `scripted ${status}` },
  }),
}

type Block = 'text' | 'thinking' | 'tool_use'

class Message implements Stream {
  readonly #nth: number
  readonly #send: Send
  #index = -1
  #open: Block | null = null

  constructor(asked: Asked, nth: number, send: Send) {
    this.#nth = nth
    this.#send = send
    this.#event('message_start', {
      message: {
        id: `msg_${nth}`,
        type: 'message',
        role: 'assistant',
        model: asked.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: USAGE,
      },
    })
  }

  say(text: string): void {
    if (this.#open !== 'text') this.#start('text', { text: '' })
    this.#delta({ type: 'text_delta', text })
  }

  think(thinking: string): void {
    if (this.#open !== 'thinking') this.#start('thinking', { thinking: '', signature: '' })
    this.#delta({ type: 'thinking_delta', thinking })
  }

  call({ name }: { name: string }): void {
    this.#start('tool_use', { id: `toolu_${this.#nth}`, name, input: {} })
  }

  argue(partial_json: string): void {
    this.#delta({ type: 'input_json_delta', partial_json })
  }

  keepAlive(): void {
    this.#event('ping', {})
  }

  end(): void {
    const stop_reason = this.#open === 'tool_use' ? 'tool_use' : 'end_turn'
    this.#stop()
    this.#event('message_delta', {
      delta: { stop_reason, stop_sequence: null },
      usage: { ...USAGE, output_tokens: OUTPUT_TOKENS },
    })
    this.#event('message_stop', {})
  }

  #start(type: Block, fields: object): void {
    this.#stop()
    this.#open = type
    this.#index++
    this.#event('content_block_start', { index: this.#index, content_block: { type, ...fields } })
  }

  #delta(delta: object): void {
    this.#event('content_block_delta', { index: this.#index, delta })
  }

  #stop(): void {
    if (this.#open === 'thinking') this.#delta({ type: 'signature_delta', signature: 'c2ln' })
    if (this.#open !== null) this.#event('content_block_stop', { index: this.#index })
    this.#open = null
  }

  #event(type: string, fields: object): void {
    this.#send({ event: type, data: { type, ...fields } })
  }
}
