/** Claude Code: `claude -p --output-format stream-json`. */

import { join } from 'node:path'
import { type Agent, PROMPT, program } from './agent.ts'

const CLAUDE_MODEL = 'claude-opus-4-6'

export const claudeCode: Agent = {
  provider: 'claudeAgent',
  prepare: ({ folder }, url) => ({
    command: [
      ...[program('claude'), '-p', PROMPT, '--model', CLAUDE_MODEL, '--allowedTools', 'Bash'],
      ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
      ...['--strict-mcp-config', '--mcp-config', '{"mcpServers": {}}'],
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'scripted',
      CLAUDE_CONFIG_DIR: join(folder, 'claude'),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_ERROR_REPORTING: '1',
    },
  }),
}
