/** Threads of connections whose wires name none. */

let made = 0

/**
 * A thread of a connection's own: connections that shared one would end each other's turns. `wallMs` is when the
 * connection was made, so that no thread of an earlier process comes again.
 */
export function ownThread(vendor: string, wallMs: number): string {
  made++
  return `${vendor}-${Math.round(wallMs).toString(36)}-${made}`
}
