import type {
  OrchestrationV2AppThread,
  OrchestrationV2ThreadProjection,
  ThreadId,
} from "@t3tools/contracts";
import * as Context from "effect/Context";
import * as Data from "effect/Data";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

export class ProjectionStoreThreadNotFoundError extends Data.TaggedError(
  "ProjectionStoreThreadNotFoundError",
)<{ readonly threadId: ThreadId }> {}

export class ProjectionStoreReadError extends Data.TaggedError("ProjectionStoreReadError")<{
  readonly threadId: ThreadId;
}> {}

export type ProjectionStoreV2Error = ProjectionStoreThreadNotFoundError | ProjectionStoreReadError;

export interface ProjectionStoreV2Shape {
  readonly getThreadRecords: <K extends Exclude<keyof OrchestrationV2ThreadProjection, "thread">>(
    threadId: ThreadId,
    fields: ReadonlyArray<K>,
  ) => Effect.Effect<Pick<OrchestrationV2ThreadProjection, "thread" | K>, ProjectionStoreV2Error>;
  readonly getThread: (
    threadId: ThreadId,
  ) => Effect.Effect<OrchestrationV2AppThread, ProjectionStoreV2Error>;
  readonly getRecoveryThreadIds: (
    kind: "runtime",
  ) => Effect.Effect<ReadonlyArray<ThreadId>, ProjectionStoreV2Error>;
}

export class ProjectionStoreV2 extends Context.Service<ProjectionStoreV2, ProjectionStoreV2Shape>()(
  "t3/orchestration-v2/ProjectionStore/ProjectionStoreV2",
) {}

/** What the store holds. */
export class ProjectionTables extends Context.Service<
  ProjectionTables,
  Map<ThreadId, OrchestrationV2ThreadProjection>
>()("t3/orchestration-v2/ProjectionTables") {}

export const layer = Layer.effect(
  ProjectionStoreV2,
  Effect.map(ProjectionTables, (tables) => {
    const read = (threadId: ThreadId) =>
      Effect.suspend(() => {
        const found = tables.get(threadId);
        return found === undefined
          ? Effect.fail(new ProjectionStoreThreadNotFoundError({ threadId }))
          : Effect.succeed(found);
      });
    return ProjectionStoreV2.of({
      getThreadRecords: (threadId) => read(threadId),
      getThread: (threadId) => Effect.map(read(threadId), ({ thread }) => thread),
      getRecoveryThreadIds: () =>
        Effect.sync(() =>
          [...tables.values()]
            .filter(({ runs }) => runs.some(({ status }) => status === "running"))
            .map(({ thread }) => thread.id),
        ),
    });
  }),
);
