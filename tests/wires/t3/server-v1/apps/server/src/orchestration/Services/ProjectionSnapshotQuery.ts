import type { OrchestrationThreadShell, ThreadId } from "@t3tools/contracts";
import * as Context from "effect/Context";
import type * as Effect from "effect/Effect";
import type * as Option from "effect/Option";

export interface ProjectionSnapshotQueryShape {
  readonly getShellSnapshot: () => Effect.Effect<{
    readonly snapshotSequence: number;
    readonly threads: ReadonlyArray<OrchestrationThreadShell>;
  }>;
  readonly getThreadShellById: (
    threadId: ThreadId,
  ) => Effect.Effect<Option.Option<OrchestrationThreadShell>>;
}

export class ProjectionSnapshotQuery extends Context.Service<
  ProjectionSnapshotQuery,
  ProjectionSnapshotQueryShape
>()("t3/orchestration/Services/ProjectionSnapshotQuery") {}
