/** A call of the shell that an agent offers its model, under the name and with the arguments it has there. */

import type { Asked } from './wire.ts'

export interface ShellCall {
  readonly name: string
  readonly arguments: string
}

const ARGUMENTS: Readonly<Record<string, (command: string) => object>> = {
  // Claude Code, OpenCode
  Bash: (command) => ({ command, description: 'Runs a command' }),
  bash: (command) => ({ command, description: 'Runs a command' }),
  // Codex
  exec_command: (cmd) => ({ cmd, yield_time_ms: 30_000 }),
  shell_command: (command) => ({ command }),
}

/** Throws when the agent offers no shell that is known here. */
export function shellCall(asked: Asked, command: string): ShellCall {
  const names = asked.tools.map(({ name, function: chat, type }) => name ?? chat?.name ?? type ?? '')
  const name = names.find((one) => Object.hasOwn(ARGUMENTS, one))
  const shell = name === undefined ? undefined : ARGUMENTS[name]
  if (name === undefined || shell === undefined) throw new Error(`no known shell among ${names.join(', ')}`)
  return { name, arguments: JSON.stringify(shell(command)) }
}

/** A text in so many pieces of about the same length. */
export function piecesOf(text: string, count: number): string[] {
  const size = Math.ceil(text.length / count)
  return Array.from({ length: count }, (_, i) => text.slice(i * size, (i + 1) * size)).filter((piece) => piece !== '')
}
