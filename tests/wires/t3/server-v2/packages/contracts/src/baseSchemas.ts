import * as Schema from "effect/Schema";

export const ThreadId = Schema.String.pipe(Schema.brand("ThreadId"));
export type ThreadId = typeof ThreadId.Type;
export const RunId = Schema.String.pipe(Schema.brand("RunId"));
export type RunId = typeof RunId.Type;
export const RunAttemptId = Schema.String.pipe(Schema.brand("RunAttemptId"));
export type RunAttemptId = typeof RunAttemptId.Type;
export const NodeId = Schema.String.pipe(Schema.brand("NodeId"));
export type NodeId = typeof NodeId.Type;
export const ProviderThreadId = Schema.String.pipe(Schema.brand("ProviderThreadId"));
export type ProviderThreadId = typeof ProviderThreadId.Type;
export const ProviderTurnId = Schema.String.pipe(Schema.brand("ProviderTurnId"));
export type ProviderTurnId = typeof ProviderTurnId.Type;
export const CommandId = Schema.String.pipe(Schema.brand("CommandId"));
export type CommandId = typeof CommandId.Type;
export const MessageId = Schema.String.pipe(Schema.brand("MessageId"));
export type MessageId = typeof MessageId.Type;
