/** The Responses API of OpenAI: items in a response, numbered events; its keep-alives are comments. */

import type { ShellCall } from './shell-call.ts'
import { type Asked, OUTPUT_TOKENS, type Send, type Stream, type Wire } from './wire.ts'

const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens: OUTPUT_TOKENS,
  output_tokens_details: { reasoning_tokens: 7 },
  total_tokens: 100 + OUTPUT_TOKENS,
}

export const responses: Wire = {
  path: '/responses',
  open: (asked, nth, send) => new Response(asked, nth, send),
  refusal: (status) => ({ error: { message: `scripted ${status}`, type: 'invalid_request_error', code: null } }),
}

type Item =
  | { readonly type: 'message'; readonly id: string; text: string }
  | { readonly type: 'reasoning'; readonly id: string; text: string }
  | { readonly type: 'function_call'; readonly id: string; readonly name: string; text: string }

class Response implements Stream {
  readonly #nth: number
  readonly #send: Send
  readonly #head: object
  readonly #done: object[] = []
  #open: Item | null = null
  #number = 0

  constructor({ model }: Asked, nth: number, send: Send) {
    this.#nth = nth
    this.#send = send
    const created_at = Math.floor(Date.now() / 1000)
    this.#head = { id: `resp_${nth}`, object: 'response', created_at, model, output: [], usage: null }
    this.#event('response.created', { response: { ...this.#head, status: 'in_progress' } })
    this.#event('response.in_progress', { response: { ...this.#head, status: 'in_progress' } })
  }

  say(delta: string): void {
    const item = this.#item('message', 'msg')
    item.text += delta
    this.#event('response.output_text.delta', { item_id: item.id, content_index: 0, delta })
  }

  think(delta: string): void {
    const item = this.#item('reasoning', 'rs')
    item.text += delta
    this.#event('response.reasoning_summary_text.delta', { item_id: item.id, summary_index: 0, delta })
  }

  call({ name }: ShellCall): void {
    this.#close()
    this.#start({ type: 'function_call', id: `fc_${this.#nth}`, name, text: '' })
  }

  argue(delta: string): void {
    const item = this.#open as Item
    item.text += delta
    this.#event('response.function_call_arguments.delta', { item_id: item.id, delta })
  }

  keepAlive(): void {
    this.#send('comment')
  }

  end(): void {
    this.#close()
    this.#event('response.completed', {
      response: { ...this.#head, status: 'completed', output: this.#done, usage: USAGE },
    })
  }

  #item(type: 'message' | 'reasoning', prefix: string): Item {
    if (this.#open?.type === type) return this.#open
    this.#close()
    return this.#start({ type, id: `${prefix}_${this.#nth}_${this.#done.length}`, text: '' })
  }

  #start(item: Item): Item {
    this.#open = item
    this.#event('response.output_item.added', { item: whole({ ...item, text: '' }, 'in_progress', this.#nth) })
    if (item.type === 'message') {
      this.#event('response.content_part.added', { item_id: item.id, content_index: 0, part: textPart('') })
    }
    if (item.type === 'reasoning') {
      this.#event('response.reasoning_summary_part.added', {
        item_id: item.id,
        summary_index: 0,
        part: summaryPart(''),
      })
    }
    return item
  }

  #close(): void {
    const item = this.#open
    if (item === null) return
    const { id: item_id, text } = item
    switch (item.type) {
      case 'message':
        this.#event('response.output_text.done', { item_id, content_index: 0, text })
        this.#event('response.content_part.done', { item_id, content_index: 0, part: textPart(text) })
        break
      case 'reasoning':
        this.#event('response.reasoning_summary_text.done', { item_id, summary_index: 0, text })
        this.#event('response.reasoning_summary_part.done', { item_id, summary_index: 0, part: summaryPart(text) })
        break
      case 'function_call':
        this.#event('response.function_call_arguments.done', { item_id, arguments: text, name: item.name })
        break
      default:
        item satisfies never
    }
    const done = whole(item, 'completed', this.#nth)
    this.#event('response.output_item.done', { item: done })
    this.#done.push(done)
    this.#open = null
  }

  #event(type: string, fields: object): void {
    this.#send({
      event: type,
      data: { type, sequence_number: this.#number++, output_index: this.#done.length, ...fields },
    })
  }
}

function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [] }
}

function summaryPart(text: string): object {
  return { type: 'summary_text', text }
}

function whole(item: Item, status: string, nth: number): object {
  const { id, text } = item
  switch (item.type) {
    case 'message':
      return { id, type: 'message', role: 'assistant', status, content: text === '' ? [] : [textPart(text)] }
    case 'reasoning':
      return { id, type: 'reasoning', summary: text === '' ? [] : [summaryPart(text)], encrypted_content: 'c2NyaXB0' }
    case 'function_call':
      return { id, type: 'function_call', status, call_id: `call_${nth}`, name: item.name, arguments: text }
    default:
      return item satisfies never
  }
}
