/** An agent's command line: how it is pointed at a provider, told to keep to itself, and asked for one turn. */

import { fileURLToPath } from 'node:url'
import type { Stage } from '../stage/stage.ts'

export interface Prepared {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface Agent {
  readonly provider: 'claudeAgent' | 'codex' | 'opencode'
  /** Writes the agent's settings; the command runs one turn and prints events. */
  prepare(stage: Stage, providerUrl: string): Prepared
}

/** The program as npm installed it. */
export function program(name: 'claude' | 'codex' | 'opencode'): string {
  return fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))
}

export const PROMPT = 'Do as the script says.'
