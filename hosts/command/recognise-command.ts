/** What a command line says of the agent it starts: its wire format, whether it runs one turn, and the model. */

import type { SourceName } from '../../instrumentation/sources/index.ts'

export interface AgentCommand {
  readonly source: SourceName
  /** T3's driver kind. */
  readonly provider: string
  /** The command is one turn, which begins when it starts. */
  readonly oneShot: boolean
  /** The model it asks for by its full name, where that is known. */
  readonly model?: string | undefined
  /** The session id it asks for. */
  readonly session?: string | undefined
}

type AgentName = 'claude' | 'codex' | 'opencode'

/** Names of programs, scripts and npm packages, without folder, scope, version and extension. */
const AGENTS: Readonly<Record<string, AgentName>> = {
  claude: 'claude',
  'claude-code': 'claude',
  codex: 'codex',
  opencode: 'opencode',
  'opencode-ai': 'opencode',
}

/** Programs that start another one, with those of their options that take a value. */
const LAUNCHERS: Readonly<Record<string, { readonly values: readonly string[]; readonly words?: readonly string[] }>> =
  {
    env: { values: ['-u', '--unset', '-C', '--chdir'] },
    npx: { values: ['-p', '--package', '-c', '--call', '-w', '--workspace', '--cache', '--registry'] },
    bunx: { values: ['-p', '--package'] },
    npm: { values: ['--package', '-w', '--workspace', '--prefix', '--registry'], words: ['exec', 'x'] },
    pnpm: { values: ['--package', '-C', '--dir', '--filter'], words: ['dlx', 'exec'] },
    yarn: { values: ['-p', '--package'], words: ['dlx', 'exec'] },
    node: { values: ['-r', '--require', '--import', '--loader', '-C', '--conditions', '--env-file'] },
    bun: { values: ['-r', '--preload', '--cwd', '--env-file'], words: ['x', 'run'] },
    deno: { values: ['-c', '--config', '--import-map'], words: ['run'] },
    nice: { values: ['-n', '--adjustment'] },
    timeout: { values: ['-k', '--kill-after', '-s', '--signal'] },
    stdbuf: { values: ['-i', '-o', '-e', '--input', '--output', '--error'] },
    sudo: { values: ['-u', '--user', '-g', '--group', '-h', '--host', '-D', '--chdir'] },
    nohup: { values: [] },
    setsid: { values: [] },
    exec: { values: [] },
    command: { values: [] },
  }

/** Launchers within launchers, as in `env A=b timeout 600 npx claude`. */
const MAX_LAUNCHERS = 8

/** The agent that a command starts with an output that can be watched, or null. */
export function recogniseCommand(command: readonly string[]): AgentCommand | null {
  const found = agentIn(command)
  if (found === null || found.args.some((arg) => ['--help', '--version'].includes(arg))) return null
  switch (found.agent) {
    case 'claude':
      return claude(found.args)
    case 'codex':
      return codex(found.args)
    case 'opencode':
      return opencode(found.args)
    default:
      return found.agent satisfies never
  }
}

/** The agent whose wire format the user named: a command of one turn where the format is that of one. */
export function agentOfSource(source: SourceName | undefined): AgentCommand | null {
  if (source === 'codex-exec-json') return { source, provider: 'codex', oneShot: true }
  if (source === 'opencode-run-json') return { source, provider: 'opencode', oneShot: true }
  return null
}

/** The options that a known agent lacks, so that its output cannot be watched; null where none are. */
export function missingFlags(command: readonly string[]): string | null {
  const { agent, args = [] } = agentIn(command) ?? {}
  if (agent === 'claude' && (args.includes('-p') || args.includes('--print'))) {
    return '--output-format stream-json --verbose'
  }
  if (agent === 'codex' && args.includes('exec')) return '--json'
  return agent === 'opencode' && args.includes('run') ? '--format json' : null
}

function claude(args: readonly string[]): AgentCommand | null {
  if (valueOfOption(args, '--output-format') !== 'stream-json') return null
  const prints = args.includes('-p') || args.includes('--print')
  const model = valueOfOption(args, '--model')
  return {
    source: 'claude-code-stream-json',
    provider: 'claudeAgent',
    // With messages on its stdin it has a turn for each, and none until the first.
    oneShot: prints && valueOfOption(args, '--input-format') !== 'stream-json',
    // The wire says the model; until then an alias such as `opus` would be a model of its own.
    model: model !== undefined && /\d/.test(model) ? model : undefined,
    session: valueOfOption(args, '--session-id'),
  }
}

function codex(args: readonly string[]): AgentCommand | null {
  const model = valueOfOption(args, '--model', '-m') ?? configuredModel(args)
  if (args.includes('app-server')) return { source: 'codex-app-server', provider: 'codex', oneShot: false, model }
  if (!args.some((arg) => arg === 'exec' || arg === 'e')) return null
  if (!args.some((arg) => arg === '--json' || arg === '--experimental-json')) return null
  return { source: 'codex-exec-json', provider: 'codex', oneShot: true, model }
}

/** `-c model=gpt-5` or `-c model="gpt-5"`. */
function configuredModel(args: readonly string[]): string | undefined {
  const setting = args.find((arg, i) => /^model=/.test(arg) && ['-c', '--config'].includes(args[i - 1] ?? ''))
  return setting?.slice('model='.length).replace(/^["']|["']$/g, '')
}

function opencode(args: readonly string[]): AgentCommand | null {
  if (!args.includes('run') || valueOfOption(args, '--format') !== 'json') return null
  return {
    source: 'opencode-run-json',
    provider: 'opencode',
    oneShot: true,
    model: valueOfOption(args, '--model', '-m'),
  }
}

function valueOfOption(args: readonly string[], ...names: readonly string[]): string | undefined {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  for (const name of names) {
    const at = options.indexOf(name)
    if (at !== -1) return options[at + 1]
    const joined = options.find((arg) => arg.startsWith(`${name}=`))
    if (joined !== undefined) return joined.slice(name.length + 1)
  }
  return undefined
}

function agentIn(command: readonly string[]): { agent: AgentName; args: readonly string[] } | null {
  let rest = command
  for (let depth = 0; depth < MAX_LAUNCHERS; depth++) {
    const [program, ...args] = rest
    if (program === undefined) return null
    const agent = agentName(program)
    if (agent !== null) return { agent, args }
    const launched = afterLauncher(programName(program), args)
    if (launched === null) return null
    rest = launched
  }
  return null
}

/** The command that a launcher starts; null when the program is no launcher. */
function afterLauncher(name: string, args: readonly string[]): readonly string[] | null {
  if (!Object.hasOwn(LAUNCHERS, name)) return null
  const launcher = LAUNCHERS[name] as (typeof LAUNCHERS)[string]
  // The first word that timeout takes is the duration.
  let skip = name === 'timeout' ? 1 : 0
  let words = launcher.words ?? []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string
    if (launcher.values.includes(arg)) i++
    else if (arg.startsWith('-') || (name === 'env' && arg.includes('='))) continue
    else if (words.includes(arg)) words = []
    else if (skip > 0) skip--
    else return args.slice(i)
  }
  return null
}

function agentName(program: string): AgentName | null {
  const name = programName(program)
  if (Object.hasOwn(AGENTS, name)) return AGENTS[name] as AgentName
  // node …/@anthropic-ai/claude-code/cli.js
  return /[\\/]@anthropic-ai[\\/]claude-code[\\/]/.test(program) ? 'claude' : null
}

/** `claude` of `/opt/bin/claude`, `C:\npm\claude.cmd` and `@anthropic-ai/claude-code@latest`. */
function programName(program: string): string {
  const base = program.split(/[\\/]/).at(-1) ?? program
  return base
    .replace(/(.)@[^@]*$/, '$1')
    .toLowerCase()
    .replace(/\.(exe|cmd|bat|ps1|[cm]?js|ts)$/, '')
}
