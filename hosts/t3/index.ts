/** `turnwatch/hosts/t3`: T3 Code, both generations of its engine. Typed by structure; nothing of Effect is imported. */

export type { T3Attempt } from './attempts.ts'
export type { T3MessageDispatch, T3StatsAppend, T3TurnStart } from './commands.ts'
export type { T3Logger, T3Loggers } from './loggers.ts'
export type { T3Session } from './session-check.ts'
export type { T3Options } from './t3-watch.ts'
export { type T3ThreadShell, T3V1, type T3V1Options, type T3V1Services } from './v1.ts'
export { type T3Run, T3V2, type T3V2Options, type T3V2Services, type T3V2Thread } from './v2.ts'
