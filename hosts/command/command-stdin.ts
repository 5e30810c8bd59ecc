/** Our stdin on its way to the command's: byte for byte, with back-pressure, and shown to who watches. */

import type { Readable, Writable } from 'node:stream'

/**
 * Passes everything on, the end too. When the command closes its stdin, ours is closed, so that its writer learns of it as
 * it would without us. Returns what stops it.
 */
export function passStdin(from: Readable, to: Writable, onChunk: (chunk: Buffer) => void): () => void {
  const stop = () => {
    from.off('data', pass)
    from.destroy()
    to.destroy()
  }
  const pass = (chunk: Buffer) => {
    onChunk(chunk)
    if (to.write(chunk)) return
    from.pause()
    to.once('drain', () => from.resume())
  }
  to.on('error', stop)
  // Such as a terminal that is gone: no more input, which is what an end says.
  from.on('error', () => to.end())
  from.on('end', () => to.end())
  from.on('data', pass)
  return stop
}
