/**
 * The AI SDK over a `fetch` of its own, which asks again where a response does not come or has no content, and ends one
 * that falls silent later. It works with every provider of the SDK that takes a `fetch`; `source` is what that speaks.
 * `npm install ai turnwatch`, then `AI_GATEWAY_API_KEY=… node ai-sdk-fetch.ts 'Is it raining in Paris?'`
 */

import { createGateway, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { StreamStalledError, watchStream, withStallRetries } from 'turnwatch/watchdog'

const { AI_GATEWAY_URL = 'https://ai-gateway.vercel.sh/v4/ai', MODEL = 'openai/gpt-6-sol' } = process.env
const { HEADERS_MS = 60_000, FIRST_CONTENT_MS = 120_000, CONTENT_INTERVAL_MS = 60_000 } = process.env
const stop = new AbortController()
process.once('SIGINT', () => stop.abort(new Error('stopped by hand')))

/** Of the gateway, which streams the parts of a model. With `createOpenAI({ fetch })` it is `source: 'openai-responses'`. */
const classify = (part: unknown) => {
  const { type = '' } = part as { type?: string }
  if (type === 'finish') return 'terminal'
  return type.endsWith('-delta') || type === 'tool-call' ? 'content' : 'neutral'
}

/** Each step of a run is a request. Tools run between them, where no deadline does. */
const watchedFetch: typeof fetch = (url, init) =>
  withStallRetries(
    (attempt) =>
      watchStream(fetch(url, { ...init, signal: attempt.signal }), {
        classify,
        headersMs: Number(HEADERS_MS),
        firstContentMs: Number(FIRST_CONTENT_MS),
        contentIntervalMs: Number(CONTENT_INTERVAL_MS),
        ...attempt,
      }),
    {
      maxStallRetries: 1,
      onRetry: ({ attempt, error }) => console.error(`${error.message}; try ${attempt}`),
      signal: init?.signal ?? undefined,
    },
  )

const weather = tool({
  description: 'Tells the weather of a place',
  inputSchema: jsonSchema<{ place: string }>({ type: 'object', properties: { place: { type: 'string' } } }),
  async execute({ place }) {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    return `rain in ${place}`
  },
})

/** The SDK wraps what its `fetch` throws. */
function stallIn(error: unknown): StreamStalledError | undefined {
  for (let at = error; at instanceof Error; at = at.cause ?? (at as { lastError?: unknown }).lastError) {
    if (at instanceof StreamStalledError) return at
  }
  return undefined
}

const { fullStream } = streamText({
  model: createGateway({ baseURL: AI_GATEWAY_URL, fetch: watchedFetch })(MODEL),
  prompt: process.argv[2] ?? 'Is it raining in Paris?',
  tools: { weather },
  stopWhen: isStepCount(5),
  // After errors of HTTP, and once more where all tries of a request have stalled.
  maxRetries: 1,
  abortSignal: stop.signal,
  onError: () => {},
})
try {
  for await (const part of fullStream) {
    if (part.type === 'text-delta') process.stdout.write(part.text)
    if (part.type === 'abort') throw stop.signal.reason
    if (part.type === 'error') throw part.error
  }
} catch (error) {
  console.error(`\n${stallIn(error)?.message ?? error}`)
  process.exitCode = 1
}
