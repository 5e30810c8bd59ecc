import type { OrchestrationV2ServerCommand } from "@t3tools/contracts";
import * as Context from "effect/Context";
import * as Data from "effect/Data";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import * as ProjectionStore from "./ProjectionStore.ts";

export class OrchestratorCommandRejectedError extends Data.TaggedError(
  "OrchestratorCommandRejectedError",
) {}

export interface ThreadManagementServiceShape {
  readonly dispatch: (
    command: OrchestrationV2ServerCommand,
  ) => Effect.Effect<{ readonly sequence: number }, OrchestratorCommandRejectedError>;
}

export class ThreadManagementService extends Context.Service<
  ThreadManagementService,
  ThreadManagementServiceShape
>()("t3/orchestration-v2/ThreadManagementService") {}

/** Every command that was accepted. */
export const accepted: Array<OrchestrationV2ServerCommand> = [];

export const layer = Layer.effect(
  ThreadManagementService,
  Effect.map(ProjectionStore.ProjectionStoreV2, (projections) => ({
    dispatch: (command) =>
      projections.getThread(command.threadId).pipe(
        Effect.mapError(() => new OrchestratorCommandRejectedError()),
        Effect.map(() => ({ sequence: accepted.push(command) })),
      ),
  })),
);
