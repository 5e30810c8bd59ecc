/** Every wire format by its name: how its events are classified, and its source. */

import { shown } from '../shown.ts'
import { AcpSource, acpClassifier } from './acp.ts'
import { AiSdkFullstreamSource, aiSdkFullstreamClassifier, aiSdkFullstreamV6Classifier } from './ai-sdk-fullstream.ts'
import { AiSdkUiStreamSource, aiSdkUiStreamClassifier } from './ai-sdk-ui-stream.ts'
import { AnthropicMessagesSource, anthropicMessagesClassifier } from './anthropic-messages.ts'
import { type Classified, entry, isRaw, type Raw } from './classifier.ts'
import { ClaudeCodeSource, claudeCodeClassifier } from './claude-code.ts'
import { CodexAppServerSource, codexAppServerClassifier } from './codex-app-server.ts'
import { CodexExecSource, codexExecClassifier } from './codex-exec.ts'
import { McpSource, mcpClassifier } from './mcp.ts'
import { OpenaiChatChunkSource, openaiChatChunkClassifier } from './openai-chat-chunk.ts'
import { openaiResponsesClassifier, openrouterResponsesClassifier, ResponsesSource } from './openai-responses.ts'
import { OpencodeRunSource, opencodeRunClassifier } from './opencode-run.ts'
import { OpencodeSseSource, opencodeSseClassifier } from './opencode-sse.ts'
import { type Direction, type Emit, SOURCE_NAMES, type Source, type SourceName, type SourceOptions } from './source.ts'
import { T3CanonicalSource, t3CanonicalClassifier } from './t3-canonical.ts'
import { t3NativeClassifier } from './t3-native.ts'
import { T3NativeSource } from './t3-native-source.ts'

interface Wire {
  /** The provider of its turns, where the options and the events name none. */
  readonly provider?: string
  /** Whether it is a bare model API, whose request is a turn before it answers. */
  readonly isApi?: true
  /** Whether its failures are events of their own, so that a stream of whole events which just ends is at its end. */
  readonly endsCleanly?: true
  readonly classifier: { classify(raw: Raw | string): Classified }
  readonly open: (options: SourceOptions) => Source
}

const WIRES: Record<SourceName, Wire> = {
  'claude-code-stream-json': {
    provider: 'claudeAgent',
    classifier: claudeCodeClassifier,
    open: (options) => new ClaudeCodeSource(options),
  },
  'codex-exec-json': {
    provider: 'codex',
    classifier: codexExecClassifier,
    open: (options) => new CodexExecSource(options),
  },
  'codex-app-server': {
    provider: 'codex',
    classifier: codexAppServerClassifier,
    open: (options) => new CodexAppServerSource(options),
  },
  'opencode-sse': {
    provider: 'opencode',
    classifier: opencodeSseClassifier,
    open: (options) => new OpencodeSseSource(options),
  },
  'opencode-run-json': {
    provider: 'opencode',
    classifier: opencodeRunClassifier,
    open: (options) => new OpencodeRunSource(options),
  },
  'anthropic-messages': {
    provider: 'anthropic',
    isApi: true,
    classifier: anthropicMessagesClassifier,
    open: (options) => new AnthropicMessagesSource(options),
  },
  'openai-responses': {
    provider: 'openai',
    isApi: true,
    classifier: openaiResponsesClassifier,
    open: (options) => new ResponsesSource('openai-responses', options),
  },
  'openrouter-responses': {
    provider: 'openrouter',
    isApi: true,
    classifier: openrouterResponsesClassifier,
    open: (options) => new ResponsesSource('openrouter-responses', options),
  },
  'openai-chat-chunk': {
    provider: 'openai',
    isApi: true,
    classifier: openaiChatChunkClassifier,
    open: (options) => new OpenaiChatChunkSource(options),
  },
  'ai-sdk-fullstream': {
    provider: 'ai-sdk',
    isApi: true,
    classifier: aiSdkFullstreamClassifier,
    open: (options) => new AiSdkFullstreamSource('ai-sdk-fullstream', options),
  },
  'ai-sdk-fullstream-v6': {
    provider: 'ai-sdk',
    isApi: true,
    classifier: aiSdkFullstreamV6Classifier,
    open: (options) => new AiSdkFullstreamSource('ai-sdk-fullstream-v6', options),
  },
  'ai-sdk-ui-stream': {
    provider: 'ai-sdk',
    isApi: true,
    endsCleanly: true,
    classifier: aiSdkUiStreamClassifier,
    open: (options) => new AiSdkUiStreamSource(options),
  },
  acp: { classifier: acpClassifier, open: (options) => new AcpSource(options) },
  mcp: { classifier: mcpClassifier, open: (options) => new McpSource(options) },
  't3-canonical': { classifier: t3CanonicalClassifier, open: (options) => new T3CanonicalSource(options) },
  't3-native': { classifier: t3NativeClassifier, open: (options) => new T3NativeSource(options) },
}

/**
 * Makes the source of a wire format. It keeps the state of one connection, so make one per connection or process.
 * Throws TypeError for a name that is none.
 */
export function createSource(name: SourceName, options: SourceOptions = {}): Source {
  const source = wireOf(name).open(options)
  return {
    name,
    read(raw: unknown, emit: Emit, direction?: Direction): void {
      try {
        if (isRaw(raw) || isSentinel(name, raw)) source.read(raw, emit, direction)
        else options.onUnclassified?.(name, raw === null ? 'null' : Array.isArray(raw) ? 'array' : typeof raw)
      } catch (error) {
        // A hostile event may throw from any of its getters.
        options.onUnreadable?.(name, error)
      }
    },
    usageSoFar: () => source.usageSoFar?.(),
  }
}

/**
 * The class of one raw event, without any state: an unknown type, and what cannot be read, is neutral with a null key.
 * Throws TypeError for a name that is none.
 */
export function classify(name: SourceName, raw: unknown): Classified {
  const { classifier } = wireOf(name)
  try {
    if (isRaw(raw) || isSentinel(name, raw)) return classifier.classify(raw)
  } catch {
    // A hostile event may throw from any of its getters.
  }
  return { key: null, class: 'neutral' }
}

/** Lines of a stream that are no JSON: its end and, in a chat stream, comments. */
export function isSentinel(name: SourceName, raw: unknown): raw is string {
  if (typeof raw !== 'string') return false
  if (name === 'ai-sdk-ui-stream') return raw === '[DONE]'
  return name === 'openai-chat-chunk' && (raw === '[DONE]' || raw.startsWith(':'))
}

/** Throws TypeError for a name that is none. */
export function wireOf(name: SourceName): Wire {
  const wire = entry(WIRES, name)
  if (wire !== undefined) return wire
  throw new TypeError(`source: ${shown(name)} is none of ${SOURCE_NAMES.join(', ')}`)
}
