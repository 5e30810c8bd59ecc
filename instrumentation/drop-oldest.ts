/** What is remembered of hosts and wires must stay bounded: the oldest of a Map or Set give way. */
export function dropOldest<K>(remembered: Map<K, unknown> | Set<K>, limit: number): void {
  for (const key of remembered.keys()) {
    if (remembered.size <= limit) return
    remembered.delete(key)
  }
}
