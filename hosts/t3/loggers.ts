/**
 * The pair of loggers that T3's adapters write every event to. `write` gives a lazy Effect that its caller runs at once,
 * so an event is stamped when `write` is called, and the Effect of the logger itself is passed on as it is: no fibre, no
 * await, nothing that can fail.
 */

/** T3's `EventNdjsonLogger`: its thread ids are branded strings, and both methods return an `Effect<void>`. */
export interface T3Logger {
  readonly filePath: string
  readonly write: (event: unknown, threadId: never) => unknown
  readonly close: () => unknown
}

/** T3's `ProviderEventLoggers`: a member is undefined where its logging is off. */
export interface T3Loggers<Logger extends T3Logger> {
  readonly native: Logger | undefined
  readonly canonical: Logger | undefined
}

export interface LoggerTap {
  native(event: unknown, threadId: string | null): void
  canonical(event: unknown): void
}

/** Both loggers with a tap, both there. `noop` is `Effect.void`, for a logger that is off. */
export function tappedLoggers<Logger extends T3Logger>(
  { native, canonical }: T3Loggers<Logger>,
  tap: LoggerTap,
  noop: ReturnType<Logger['write']>,
): T3Loggers<Logger> {
  return {
    native: tapped(native, (event, threadId) => tap.native(event, threadId), noop),
    canonical: tapped(canonical, (event) => tap.canonical(event), noop),
  }
}

function tapped<Logger extends T3Logger>(
  logger: Logger | undefined,
  stamp: (event: unknown, threadId: string | null) => void,
  noop: ReturnType<Logger['write']>,
): Logger {
  const shown: T3Logger = {
    ...logger,
    filePath: logger?.filePath ?? '',
    write: (event, threadId) => {
      stamp(event, threadId)
      return logger === undefined ? noop : logger.write(event, threadId)
    },
    close: () => (logger === undefined ? noop : logger.close()),
  }
  return shown as Logger
}
