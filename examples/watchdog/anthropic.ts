/**
 * An agent on the Messages API whose stream may fall silent: before any content it is asked again, in the middle of an
 * answer it ends. `npm install @anthropic-ai/sdk turnwatch`, then `ANTHROPIC_API_KEY=… node anthropic.ts 'Is it raining in Paris?'`
 */

import Anthropic from '@anthropic-ai/sdk'
import { StreamStalledError, turnDeadlines } from 'turnwatch/watchdog'

const { MODEL = 'claude-sonnet-5', FIRST_CONTENT_MS = 120_000, CONTENT_INTERVAL_MS = 60_000 } = process.env
const anthropic = new Anthropic()
const stop = new AbortController()
process.once('SIGINT', () => stop.abort(new Error('stopped by hand')))

// The SDK gives its stream at once and drops the pings of the server: the first deadline is for response and content.
const turns = turnDeadlines({
  source: 'anthropic-messages',
  firstContentMs: Number(FIRST_CONTENT_MS),
  contentIntervalMs: Number(CONTENT_INTERVAL_MS),
  maxStallRetries: 1,
  onRetry: ({ attempt, error }) => console.error(`${error.message}; try ${attempt}`),
  signal: stop.signal,
})

const weather: Anthropic.Tool = {
  name: 'weather',
  description: 'Tells the weather of a place',
  input_schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
}

/** A tool may take as long as it likes: no deadline runs between two streams. */
async function tellWeather({ place }: { place: string }): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 1000))
  return `rain in ${place}`
}

const messages: Anthropic.MessageParam[] = [{ role: 'user', content: process.argv[2] ?? 'Is it raining in Paris?' }]
try {
  for (;;) {
    const turn = turns.next()
    const stream = await turn.call(({ signal }) =>
      anthropic.messages.stream({ model: MODEL, max_tokens: 4096, messages, tools: [weather] }, { signal }),
    )
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
        process.stdout.write(event.delta.text)
      }
    }
    const { content } = await stream.finalMessage()
    turn.end()
    messages.push({ role: 'assistant', content })
    const results: Anthropic.ToolResultBlockParam[] = []
    for (const block of content) {
      if (block.type !== 'tool_use') continue
      const told = await tellWeather(block.input as { place: string })
      results.push({ type: 'tool_result', tool_use_id: block.id, content: told })
    }
    if (results.length === 0) break
    messages.push({ role: 'user', content: results })
  }
} catch (error) {
  // What the server says of failures, the SDK throws as its own `APIError`.
  if (error instanceof StreamStalledError) console.error(`\n${error.message}`)
  else console.error(`\n${error}`)
  process.exitCode = 1
}
