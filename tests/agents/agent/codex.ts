/** Codex: `codex exec --json` and `codex app-server`. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Stage } from '../stage/stage.ts'
import { type Agent, PROMPT, type Prepared, program } from './agent.ts'

export const CODEX_MODEL = 'gpt-5.2-codex'

export const codexExec: Agent = {
  provider: 'codex',
  prepare: (stage, url) =>
    codex(stage, url, [
      ...['exec', '--json', '--model', CODEX_MODEL, '--skip-git-repo-check'],
      ...['--dangerously-bypass-approvals-and-sandbox', PROMPT],
    ]),
}

export function codexAppServer(stage: Stage, url: string): Prepared {
  return codex(stage, url, ['app-server'])
}

function codex({ folder }: Stage, url: string, args: readonly string[]): Prepared {
  const home = join(folder, 'codex')
  mkdirSync(home)
  writeFileSync(join(home, 'config.toml'), settings(url))
  return { command: [program('codex'), ...args], env: { CODEX_HOME: home, SCRIPTED_KEY: 'scripted' } }
}

function settings(url: string): string {
  return `
model = "${CODEX_MODEL}"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

# What looks for more of itself on the network, or starts shells of its own.
[features]
apps = false
plugins = false
remote_plugin = false
shell_snapshot = false

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 2
stream_max_retries = 2
`
}
