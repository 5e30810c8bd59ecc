import * as Data from "effect/Data";

export class OrchestrationCommandInvariantError extends Data.TaggedError(
  "OrchestrationCommandInvariantError",
)<{ readonly detail: string }> {}

export class OrchestrationCommandPreviouslyRejectedError extends Data.TaggedError(
  "OrchestrationCommandPreviouslyRejectedError",
)<{ readonly commandId: string }> {}

export type OrchestrationDispatchError =
  | OrchestrationCommandInvariantError
  | OrchestrationCommandPreviouslyRejectedError;
