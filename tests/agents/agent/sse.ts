/** JSON events out of a stream of server-sent events. */

export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  let text = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.split('\n').filter((line) => line.startsWith('data:'))
      if (data.length > 0) yield JSON.parse(data.map((line) => line.slice('data:'.length)).join('\n'))
    }
  }
}
