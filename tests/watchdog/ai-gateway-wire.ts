/** The AI Gateway, which the AI SDK asks unless it is told otherwise: parts of a language model as events; keep-alives are comments. */

import { type Asked, OUTPUT_TOKENS, type Send, type Stream, type Wire } from '../agents/provider/wire.ts'

const USAGE = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: OUTPUT_TOKENS, text: OUTPUT_TOKENS, reasoning: 0 },
}

export const aiGateway: Wire = {
  path: '/language-model',
  open: (_: Asked, nth, send) => new Parts(nth, send),
  refusal: (status) => ({ error: { message: `scripted ${status}`, type: 'internal_server_error' } }),
}

class Parts implements Stream {
  readonly #nth: number
  readonly #send: Send
  #open: 'text' | 'reasoning' | null = null
  #tool: { readonly toolCallId: string; readonly toolName: string; input: string } | null = null

  constructor(nth: number, send: Send) {
    this.#nth = nth
    this.#send = send
    this.#part('stream-start', { warnings: [] })
    this.#part('response-metadata', { id: `gen_${nth}`, modelId: 'scripted' })
  }

  say(delta: string): void {
    this.#delta('text', delta)
  }

  think(delta: string): void {
    this.#delta('reasoning', delta)
  }

  call({ name }: { name: string }): void {
    this.#close()
    this.#tool = { toolCallId: `call_${this.#nth}`, toolName: name, input: '' }
    this.#part('tool-input-start', { id: this.#tool.toolCallId, toolName: name })
  }

  argue(delta: string): void {
    if (this.#tool === null) return
    this.#tool.input += delta
    this.#part('tool-input-delta', { id: this.#tool.toolCallId, delta })
  }

  keepAlive(): void {
    this.#send('comment')
  }

  end(): void {
    this.#close()
    if (this.#tool !== null) {
      this.#part('tool-input-end', { id: this.#tool.toolCallId })
      this.#part('tool-call', this.#tool)
    }
    const unified = this.#tool === null ? 'stop' : 'tool-calls'
    this.#part('finish', { finishReason: { unified, raw: unified }, usage: USAGE })
    this.#send({ data: '[DONE]' })
  }

  #delta(kind: 'text' | 'reasoning', delta: string): void {
    if (this.#open !== kind) {
      this.#close()
      this.#open = kind
      this.#part(`${kind}-start`, { id: kind })
    }
    this.#part(`${kind}-delta`, { id: kind, delta })
  }

  #close(): void {
    if (this.#open !== null) this.#part(`${this.#open}-end`, { id: this.#open })
    this.#open = null
  }

  #part(type: string, fields: object): void {
    this.#send({ data: { type, ...fields } })
  }
}
