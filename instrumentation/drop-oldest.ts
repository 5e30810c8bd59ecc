/** What is remembered of hosts and wires must stay bounded: the oldest of a Map or Set give way. */
export function dropOldest<K, V>(
  remembered: Map<K, V> | Set<K>,
  limit: number,
  isNeeded: (value: V) => boolean = () => false,
): void {
  if (remembered.size <= limit) return
  for (const [key, value] of remembered.entries()) {
    if (remembered.size <= limit) return
    if (!isNeeded(value as V)) remembered.delete(key)
  }
}
