/**
 * An agent on the Responses API whose stream may fall silent: before any content it is asked again, in the middle of an
 * answer it ends. `npm install openai turnwatch`, then `OPENAI_API_KEY=… node openai.ts 'Is it raining in Paris?'`
 */

import OpenAI from 'openai'
import { StreamFailedError, StreamStalledError, turnDeadlines } from 'turnwatch/watchdog'

const {
  MODEL = 'gpt-6-sol',
  HEADERS_MS = 60_000,
  FIRST_CONTENT_MS = 120_000,
  CONTENT_INTERVAL_MS = 60_000,
} = process.env
const openai = new OpenAI()
const stop = new AbortController()
process.once('SIGINT', () => stop.abort(new Error('stopped by hand')))

const turns = turnDeadlines({
  source: 'openai-responses',
  headersMs: Number(HEADERS_MS),
  firstContentMs: Number(FIRST_CONTENT_MS),
  contentIntervalMs: Number(CONTENT_INTERVAL_MS),
  maxStallRetries: 1,
  onRetry: ({ attempt, error }) => console.error(`${error.message}; try ${attempt}`),
  signal: stop.signal,
})

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  description: 'Tells the weather of a place',
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  strict: false,
}

/** A tool may take as long as it likes: no deadline runs between two streams. */
async function tellWeather({ place }: { place: string }): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 1000))
  return `rain in ${place}`
}

let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: process.argv[2] ?? 'Is it raining in Paris?' }]
let previous_response_id: string | null = null
try {
  while (input.length > 0) {
    const turn = turns.next()
    const asked: OpenAI.Responses.ResponseCreateParamsStreaming = {
      model: MODEL,
      input,
      previous_response_id,
      tools: [weather],
      stream: true,
    }
    const stream = await turn.call(({ signal }) => openai.responses.create(asked, { signal }))
    const calls: OpenAI.Responses.ResponseFunctionToolCall[] = []
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)
      if (event.type !== 'response.completed') continue
      previous_response_id = event.response.id
      for (const item of event.response.output) if (item.type === 'function_call') calls.push(item)
    }
    turn.end()
    input = []
    for (const { call_id, arguments: args } of calls) {
      input.push({ type: 'function_call_output', call_id, output: await tellWeather(JSON.parse(args)) })
    }
  }
} catch (error) {
  if (error instanceof StreamStalledError) console.error(`\n${error.message}`)
  else if (error instanceof StreamFailedError) console.error(`\nthe model failed: ${error.code}, ${error.message}`)
  else console.error(`\n${error}`)
  process.exitCode = 1
}
