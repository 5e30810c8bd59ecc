/** The AI SDK that stands beside: `streamText` of the package `ai`, with models that follow a script. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

/** Ms after the line before, and a part of a model; after the last one the stream closes, unless that is `hang`. */
export type PartLine = readonly [afterMs: number, part: object | 'hang']

/** What a consumer reads of a call. */
export interface Part {
  readonly type: string
  readonly text?: string
  readonly reason?: unknown
  readonly error?: unknown
}

export interface Model {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: object
  /** Requests that were made. */
  readonly calls: () => number
  doStream(options: { abortSignal?: AbortSignal }): Promise<{ stream: ReadableStream<object> }>
}

interface AiTimeouts {
  readonly totalMs?: number | undefined
  readonly firstChunkMs?: number | undefined
  readonly chunkMs?: number | undefined
}

export interface AiCall {
  readonly model: Model
  readonly abortSignal?: AbortSignal
  readonly timeout?: AiTimeouts
  /** Ms that its one tool takes. */
  readonly toolMs?: number
  readonly maxRetries?: number
  readonly streamRetries?: number
  readonly onAbort?: () => void
}

interface AiResult {
  readonly fullStream: ReadableStream<Part>
  /** Rejects with the error of a call that was aborted, of which a part has only the text. */
  readonly text: PromiseLike<string>
}

interface Ai {
  streamText(options: object): AiResult
  tool(options: object): unknown
  jsonSchema(schema: object): unknown
  isStepCount(count: number): unknown
}

/** The packages of tests/wires, where it has to be installed. */
const { resolve } = createRequire(new URL('../../tests/wires/package.json', import.meta.url))

export interface AiSdk {
  readonly version: string
  stream(call: AiCall): AiResult
}

export async function loadAi(): Promise<AiSdk> {
  const { streamText, tool, jsonSchema, isStepCount } = (await import(pathToFileURL(resolve('ai')).href)) as Ai
  const { version } = JSON.parse(readFileSync(resolve('ai/package.json'), 'utf8')) as { version: string }
  return {
    version,
    stream({ toolMs, ...call }) {
      const execute = () => delay(toolMs, 'done')
      const work = tool({ inputSchema: jsonSchema({ type: 'object' }), execute })
      const tools = toolMs === undefined ? {} : { tools: { work }, stopWhen: isStepCount(2) }
      return streamText({ prompt: 'Say something.', onError() {}, ...tools, ...call })
    },
  }
}

const NO_USAGE = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
}

export const START = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
]
export const TOOL_CALL = { type: 'tool-call', toolCallId: 'call', toolName: 'work', input: '{}' }
export const piece = (delta: string) => ({ type: 'text-delta', id: '0', delta })
export const finish = (why: 'stop' | 'tool-calls' = 'stop') => [
  { type: 'text-end', id: '0' },
  { type: 'finish', finishReason: { unified: why, raw: why }, usage: NO_USAGE },
]

/** A model whose calls follow these scripts, each as a server does: whether it is read or not. */
export function scriptedModel(...scripts: readonly (readonly PartLine[])[]): Model {
  return modelOf((call) => Promise.resolve(played(scripts[call] ?? [])))
}

function played(script: readonly PartLine[]): ReadableStream<object> {
  let isOver = false
  return new ReadableStream({
    async start(controller) {
      for (const part of START) controller.enqueue(part)
      void (async () => {
        for (const [afterMs, part] of script) {
          if (afterMs > 0) await delay(afterMs)
          if (isOver || part === 'hang') return
          controller.enqueue(part)
        }
        controller.close()
      })()
    },
    cancel() {
      isOver = true
    },
  })
}

/** A model that reads chat completions from an address, as a provider of the SDK does. */
export function wireModel(url: string): Model {
  return modelOf(async (_, signal) => {
    const { body } = await fetch(url, { signal: signal ?? null })
    let rest = ''
    return (body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream()).pipeThrough(
      new TransformStream<string, object>({
        start(controller) {
          for (const part of START) controller.enqueue(part)
        },
        transform(text, controller) {
          const events = (rest + text).split('\n\n')
          rest = events.pop() ?? ''
          for (const event of events) for (const part of partsOf(event)) controller.enqueue(part)
        },
      }),
    )
  })
}

function partsOf(event: string): object[] {
  if (!event.startsWith('data: ')) return []
  const { choices } = JSON.parse(event.slice(6)) as {
    choices: { delta: { content: string }; finish_reason: string | null }[]
  }
  return choices.flatMap(({ delta, finish_reason }) => [
    piece(delta.content),
    ...(finish_reason === null ? [] : finish()),
  ])
}

function modelOf(open: (call: number, signal: AbortSignal | undefined) => Promise<ReadableStream<object>>): Model {
  let calls = 0
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    calls: () => calls,
    doStream: async ({ abortSignal }) => ({ stream: await open(calls++, abortSignal) }),
  }
}
