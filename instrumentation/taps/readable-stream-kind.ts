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
    const reader: unknown = stream.getReader({ mode: 'byob' })
    ;(reader as ReadableStreamBYOBReader).releaseLock()
    // What is made by hand may not care for the mode.
    return reader instanceof ReadableStreamBYOBReader
  } catch {
    return false
  }
}
