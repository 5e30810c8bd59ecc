/** OpenCode: `opencode run --format json` and `opencode serve`. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Stage } from '../stage/stage.ts'
import { type Agent, PROMPT, type Prepared, program } from './agent.ts'

export const OPENCODE_MODEL = 'scripted-model'

export const opencodeRun: Agent = {
  provider: 'opencode',
  prepare: (stage, url) => opencode(stage, url, ['run', '--format', 'json', PROMPT]),
}

/** `more` goes over the project's settings. */
export function opencodeServe(stage: Stage, url: string, port: number, more: object = {}): Prepared {
  return opencode(stage, url, ['serve', '--hostname', '127.0.0.1', '--port', `${port}`], more)
}

function opencode({ folder, work }: Stage, url: string, args: readonly string[], more: object = {}): Prepared {
  writeFileSync(join(work, 'opencode.json'), JSON.stringify({ ...settings(url), ...more }))
  havePlugins(join(folder, 'home', 'config', 'opencode'))
  return {
    command: [program('opencode'), ...args],
    env: {
      OPENCODE_PURE: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
  }
}

/** It installs its plugins' library from npm unless the folder looks as if that had been done. */
function havePlugins(config: string): void {
  mkdirSync(join(config, 'node_modules'), { recursive: true })
  const lock = { packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } }
  writeFileSync(join(config, 'package-lock.json'), JSON.stringify(lock))
}

function settings(url: string): object {
  const model = { name: 'Scripted', tool_call: true, reasoning: true, limit: { context: 100_000, output: 4000 } }
  return {
    model: `scripted/${OPENCODE_MODEL}`,
    enabled_providers: ['scripted'],
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Scripted',
        options: { baseURL: `${url}/v1`, apiKey: 'scripted' },
        models: { [OPENCODE_MODEL]: model },
      },
    },
    permission: 'allow',
    autoupdate: false,
    share: 'disabled',
    snapshot: false,
    lsp: false,
    formatter: false,
    agent: { title: { disable: true } },
  }
}
