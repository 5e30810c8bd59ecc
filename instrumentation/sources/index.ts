/** `turnwatch/sources`: raw provider events to TurnEvents, one source a wire format. */

import type { Classified, Classifier } from './classifier.ts'
import { isRaw, text } from './classifier.ts'
import { ClaudeCodeSource, claudeCodeClassifier } from './claude-code.ts'
import { CodexAppServerSource, codexAppServerClassifier } from './codex-app-server.ts'
import { CodexExecSource, codexExecClassifier } from './codex-exec.ts'
import { OpencodeRunSource, opencodeRunClassifier } from './opencode-run.ts'
import { OpencodeSseSource, opencodeSseClassifier } from './opencode-sse.ts'
import { SOURCE_NAMES, type Source, type SourceName, type SourceOptions } from './source.ts'

export type { TurnEvent } from '../events.ts'
export type { Classified, WireClass } from './classifier.ts'
export { type Direction, type Emit, SOURCE_NAMES, type Source, type SourceName, type SourceOptions } from './source.ts'

const CLASSIFIERS: Record<SourceName, Classifier> = {
  'claude-code-stream-json': claudeCodeClassifier,
  'codex-exec-json': codexExecClassifier,
  'codex-app-server': codexAppServerClassifier,
  'opencode-sse': opencodeSseClassifier,
  'opencode-run-json': opencodeRunClassifier,
}

/** Makes the source of a wire format. It keeps the state of one connection, so make one per connection or process. */
export function createSource(name: SourceName, options: SourceOptions = {}): Source {
  switch (name) {
    case 'claude-code-stream-json':
      return new ClaudeCodeSource(options)
    case 'codex-exec-json':
      return new CodexExecSource(options)
    case 'codex-app-server':
      return new CodexAppServerSource(options)
    case 'opencode-sse':
      return new OpencodeSseSource(options)
    case 'opencode-run-json':
      return new OpencodeRunSource(options)
    default:
      name satisfies never
      throw new TypeError(`source: ${JSON.stringify(name)} is none of ${SOURCE_NAMES.join(', ')}`)
  }
}

export function isSourceName(name: string): name is SourceName {
  return (SOURCE_NAMES as readonly string[]).includes(name)
}

/** The class of one raw event, without any state: an unknown type is neutral, with a null key. */
export function classify(name: SourceName, raw: unknown): Classified {
  return isRaw(raw) ? CLASSIFIERS[name].classify(raw) : { key: null, class: 'neutral' }
}

/** The wire format that a raw event looks like; null when it is none that we know. */
export function recognise(raw: unknown): SourceName | null {
  if (!isRaw(raw)) return null
  const type = text(raw.type)
  const method = text(raw.method)
  if (method !== undefined) return method === 'initialize' || knows('codex-app-server', raw) ? 'codex-app-server' : null
  if (type === undefined) return null
  if (text(raw.session_id) !== undefined && knows('claude-code-stream-json', raw)) return 'claude-code-stream-json'
  if (text(raw.sessionID) !== undefined && knows('opencode-run-json', raw)) return 'opencode-run-json'
  if (isRaw(raw.properties) && knows('opencode-sse', raw)) return 'opencode-sse'
  if (isRaw(raw.payload) && knows('opencode-sse', raw.payload)) return 'opencode-sse'
  if (/^(thread|turn|item)\./.test(type) && knows('codex-exec-json', raw)) return 'codex-exec-json'
  return null
}

function knows(name: SourceName, raw: unknown): boolean {
  return classify(name, raw).key !== null
}
