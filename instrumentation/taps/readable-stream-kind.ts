/** What is a ReadableStream, of any maker, and of which kind. */

/** Whether a value is a ReadableStream. */
export function isReadableStream(value: unknown): value is ReadableStream {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { getReader?: unknown }).getReader === 'function' &&
    typeof (value as { locked?: unknown }).locked === 'boolean'
  )
}

/** Whether a stream is one of bytes: only these have readers with memory of their own. */
export function isByteStream(stream: ReadableStream): boolean {
  try {
    const reader = stream.getReader({ mode: 'byob' })
    reader.releaseLock()
    // What is made by hand may not care for the mode; of another realm it has another class.
    return Object.prototype.toString.call(reader) === '[object ReadableStreamBYOBReader]'
  } catch {
    return false
  }
}
