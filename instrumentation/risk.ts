/** How a running turn ranks where the riskiest come first: stale, suspect, then by the share of its threshold used up. */
export function risk(state: string, silenceMs: number, thresholdMs: number): number {
  const share = Math.min(silenceMs / thresholdMs, 999_999_999)
  return (state === 'stale' ? 2e9 : state === 'suspect' ? 1e9 : 0) + share
}
