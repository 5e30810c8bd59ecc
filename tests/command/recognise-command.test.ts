import { describe, expect, it } from 'vitest'
import { recogniseCommand } from '../../hosts/command/recognise-command.ts'

const found = (line: string) => {
  const agent = recogniseCommand(line.split(' '))
  return agent && `${agent.source}${agent.oneShot ? ' one-shot' : ''}${agent.model ? ` ${agent.model}` : ''}`
}

describe('a command line is recognised', () => {
  const claude = '-p hello --output-format stream-json --verbose'
  it.each([
    [`claude ${claude}`, 'claude-code-stream-json one-shot'],
    ['claude --print --output-format=stream-json', 'claude-code-stream-json one-shot'],
    [`claude ${claude} --model claude-opus-4-6`, 'claude-code-stream-json one-shot claude-opus-4-6'],
    [`claude ${claude} --model opus`, 'claude-code-stream-json one-shot'],
    [`claude ${claude} --input-format stream-json`, 'claude-code-stream-json'],
    ['claude --output-format stream-json --input-format stream-json', 'claude-code-stream-json'],
    [`/opt/bin/claude ${claude}`, 'claude-code-stream-json one-shot'],
    [`C:\\npm\\claude.cmd ${claude}`, 'claude-code-stream-json one-shot'],
    [`env -i -u HOME A=b claude ${claude}`, 'claude-code-stream-json one-shot'],
    [`npx -y @anthropic-ai/claude-code@latest ${claude}`, 'claude-code-stream-json one-shot'],
    [`npx --package @anthropic-ai/claude-code claude ${claude}`, 'claude-code-stream-json one-shot'],
    [`npm exec -- claude ${claude}`, 'claude-code-stream-json one-shot'],
    [
      `node --import x.js /lib/node_modules/@anthropic-ai/claude-code/cli.js ${claude}`,
      'claude-code-stream-json one-shot',
    ],
    [`timeout -k 5 600 nice -n 5 claude ${claude}`, 'claude-code-stream-json one-shot'],
    ['codex exec --json hello', 'codex-exec-json one-shot'],
    ['codex -m gpt-5 exec --json hello', 'codex-exec-json one-shot gpt-5'],
    ['codex exec --json -c model="gpt-5.2" hello', 'codex-exec-json one-shot gpt-5.2'],
    ['bunx @openai/codex exec resume x --json', 'codex-exec-json one-shot'],
    ['codex.exe app-server', 'codex-app-server'],
    ['opencode run --format json -m a/b hello', 'opencode-run-json one-shot a/b'],
    ['bun x opencode-ai run --format=json hello', 'opencode-run-json one-shot'],
  ])('%s', (line, expected) => expect(found(line)).toBe(expected))
})

describe('a command line is not recognised', () => {
  it.each([
    'claude -p hello',
    'claude -p hello --output-format json',
    'claude -p -- --output-format stream-json',
    'claude --help --output-format stream-json',
    'codex exec hello',
    'codex --json hello',
    'opencode run hello',
    'opencode serve --format json',
    'node script.js claude -p --output-format stream-json',
    'echo claude -p --output-format stream-json',
    'env',
    'constructor exec --json',
  ])('%s', (line) => expect(found(line)).toBe(null))
})
