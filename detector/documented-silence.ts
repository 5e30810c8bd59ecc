/**
 * The largest healthy silence that somebody documented in public for a model, at its highest effort. It only raises the
 * default of the `cautious` preset; models whose documented silence is 300 s or less are not listed.
 */

interface DocumentedSilence {
  readonly model: RegExp
  readonly silenceMs: number
  /** The public report the figure comes from. */
  readonly source: string
}

const DOCUMENTED: readonly DocumentedSilence[] = [
  { model: /grok-4\.6/, silenceMs: 1_198_000, source: 'tetsuo-ai/agenc-core#2200' },
  { model: /gemini/, silenceMs: 703_000, source: 'kurrent-io/kcap-cli#727' },
  { model: /claude.*(opus|fable)/, silenceMs: 600_000, source: 'anthropics/claude-code#85265' },
  { model: /gpt-5\.2/, silenceMs: 600_000, source: 'earendil-works/pi#690' },
  { model: /glm-5/, silenceMs: 600_000, source: 'can1357/oh-my-pi#7719' },
  { model: /kimi/, silenceMs: 600_000, source: 'Vinix24/vnx-orchestration#860' },
]

/** In ms; 0 where nothing is documented. */
export function documentedSilenceMs(model: string | null): number {
  if (model === null) return 0
  const name = model.toLowerCase()
  return Math.max(0, ...DOCUMENTED.filter((row) => row.model.test(name)).map((row) => row.silenceMs))
}
