/** T3's native log as the only thing that there is to read: each thread's events go to a source of their own wire. */

import { dropOldest } from '../drop-oldest.ts'
import { UNKNOWN } from '../events.ts'
import { AcpSource } from './acp.ts'
import { type Raw, text } from './classifier.ts'
import { ClaudeCodeSource } from './claude-code.ts'
import { CodexAppServerSource } from './codex-app-server.ts'
import { OpencodeSseSource } from './opencode-sse.ts'
import { PiSource } from './pi.ts'
import { type Direction, type Emit, type Source, type SourceOptions, ThreadIds } from './source.ts'
import { T3CanonicalSource } from './t3-canonical.ts'
import { AcpLog, type AcpMessage, acpLogRecord } from './t3-native-acp.ts'
import { codexMessage } from './t3-native-codex.ts'
import { type Dialect, nativeEvent, unwrapped } from './t3-native-record.ts'

const NAME = 't3-native'

const MAX_WIRES = 1000

/** The wire of one thread. */
interface Wire {
  read(raw: Raw, emit: Emit, direction: Direction): void
}

const OPEN: Readonly<Record<Dialect, (options: SourceOptions) => Wire>> = {
  'codex-app-server': (options) => new CodexAppServerSource(options),
  'claude-code-stream-json': (options) => new ClaudeCodeSource(options),
  'opencode-sse': (options) => new OpencodeSseSource(options),
  acp: (options) => new AcpSource(options),
  pi: (options) => new PiSource(options),
  't3-canonical': (options) => new T3CanonicalSource(options),
}

export class T3NativeSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #threads: ThreadIds
  readonly #wires = new Map<string, ThreadWire>()

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#threads = new ThreadIds(options.thread)
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    const record = unwrapped(raw)
    if (record === null || direction === 'out') return
    const log = acpLogRecord(record)
    if (log !== null) return this.#wire('acp', record).readAll((acp) => acp.record(log), emit)
    const event = nativeEvent(record)
    switch (event.dialect) {
      case null:
        return this.#unknown(event.name, record, emit)
      case 'acp':
        return this.#wire('acp', record).readAll((acp) => acp.notification(event.raw), emit)
      case 'codex-app-server':
        return this.#wire(event.dialect, record).read(codexMessage(record, event.raw), emit)
      default:
        this.#wire(event.dialect, record).read({ raw: event.raw, direction: 'in' }, emit)
    }
  }

  #unknown(name: string, record: Raw, emit: Emit): void {
    this.#options.onUnclassified?.(NAME, name)
    const thread = text(record.threadId)
    const id = thread === undefined ? this.#options.thread : this.#threads.of(thread)
    if (id !== undefined) emit(id, { kind: 'side', what: UNKNOWN })
  }

  #wire(dialect: Dialect, record: Raw): ThreadWire {
    // T3's own events name their threads themselves.
    const thread = dialect === 't3-canonical' ? undefined : text(record.threadId)
    const key = `${dialect} ${thread ?? ''}`
    let wire = this.#wires.get(key)
    if (wire === undefined) {
      const provider = this.#options.provider ?? text(record.provider)
      const options = { ...this.#options, provider, thread: thread === undefined ? this.#options.thread : undefined }
      wire = new ThreadWire(OPEN[dialect](options), thread, thread === undefined ? '' : this.#threads.of(thread))
      this.#wires.set(key, wire)
      dropOldest(this.#wires, MAX_WIRES)
    }
    return wire
  }
}

/** The wire of one thread of T3, under T3's name for it. */
class ThreadWire {
  readonly #wire: Wire
  readonly #thread: string | undefined
  readonly #name: string
  readonly #acp: AcpLog
  /** What the provider calls the thread; what it calls otherwise are others, of sub-agents. */
  #session: string | undefined

  constructor(wire: Wire, thread: string | undefined, name: string) {
    this.#wire = wire
    this.#thread = thread
    this.#name = name
    this.#acp = new AcpLog(thread)
  }

  read({ raw, direction }: AcpMessage, emit: Emit): void {
    this.#wire.read(raw, (thread, event) => emit(this.#nameOf(thread), event), direction)
  }

  readAll(messages: (acp: AcpLog) => readonly AcpMessage[], emit: Emit): void {
    for (const message of messages(this.#acp)) this.read(message, emit)
  }

  #nameOf(thread: string): string {
    if (this.#thread === undefined) return thread
    if (thread !== this.#thread) this.#session ??= thread
    return thread === this.#thread || thread === this.#session ? this.#name : thread
  }
}
