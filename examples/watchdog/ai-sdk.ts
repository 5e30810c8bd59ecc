/**
 * A run of the AI SDK whose `fullStream` may fall silent: before any content the run is made again, later it ends.
 * `npm install ai turnwatch`, then `AI_GATEWAY_API_KEY=… node ai-sdk.ts 'Is it raining in Paris?'`
 */

import { createGateway, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { StreamStalledError, watchStream, withStallRetries } from 'turnwatch/watchdog'

const { AI_GATEWAY_URL = 'https://ai-gateway.vercel.sh/v4/ai', MODEL = 'openai/gpt-6-sol' } = process.env
const { FIRST_CONTENT_MS = 120_000, CONTENT_INTERVAL_MS = 60_000 } = process.env
const model = createGateway({ baseURL: AI_GATEWAY_URL })(MODEL)
const stop = new AbortController()
process.once('SIGINT', () => stop.abort(new Error('stopped by hand')))

/** It may take as long as it likes: while a tool runs on this side, no silence is counted. */
const weather = tool({
  description: 'Tells the weather of a place',
  inputSchema: jsonSchema<{ place: string }>({ type: 'object', properties: { place: { type: 'string' } } }),
  async execute({ place }) {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    return `rain in ${place}`
  },
})

/** All steps of a run are one stream. Its request hears of the stall by the signal. */
const run = ({ signal }: { signal: AbortSignal }) =>
  streamText({
    model,
    prompt: process.argv[2] ?? 'Is it raining in Paris?',
    tools: { weather },
    stopWhen: isStepCount(5),
    abortSignal: signal,
    onError: () => {},
  }).fullStream

try {
  const parts = await withStallRetries(
    (attempt) =>
      watchStream(run(attempt), {
        source: 'ai-sdk-fullstream',
        firstContentMs: Number(FIRST_CONTENT_MS),
        contentIntervalMs: Number(CONTENT_INTERVAL_MS),
        ...attempt,
      }),
    {
      maxStallRetries: 1,
      onRetry: ({ attempt, error }) => console.error(`${error.message}; try ${attempt}`),
      signal: stop.signal,
    },
  )
  for await (const part of parts) if (part.type === 'text-delta') process.stdout.write(part.text)
} catch (error) {
  // An `error` part of the stream is thrown as `StreamFailedError`, unless the run went on after it.
  console.error(error instanceof StreamStalledError ? `\n${error.message}` : `\n${error}`)
  process.exitCode = 1
}
