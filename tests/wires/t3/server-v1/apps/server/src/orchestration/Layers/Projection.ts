import type {
  OrchestrationCommand,
  OrchestrationEvent,
  OrchestrationThreadShell,
  ThreadId,
} from "@t3tools/contracts";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Option from "effect/Option";
import * as SqlClient from "effect/unstable/sql/SqlClient";

import { ProjectionSnapshotQuery } from "../Services/ProjectionSnapshotQuery.ts";

/** Threads, as the events have made them. */
export class Projection extends Context.Service<
  Projection,
  {
    readonly threads: Map<ThreadId, OrchestrationThreadShell>;
    /** Every command that was accepted. */
    readonly commands: Array<OrchestrationCommand>;
    readonly apply: (event: OrchestrationEvent) => Effect.Effect<void>;
  }
>()("t3/orchestration/Projection") {}

export const ProjectionLive = Layer.effect(
  Projection,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient;
    const threads = new Map<ThreadId, OrchestrationThreadShell>();
    return Projection.of({
      threads,
      commands: [],
      apply: Effect.fn("apply")(function* ({ type, payload }) {
        const thread = threads.get(payload.threadId);
        if (type === "thread.session-set" && thread !== undefined) {
          const turnId = payload.session.activeTurnId;
          const latestTurn =
            turnId !== null
              ? { turnId, state: "running" as const, startedAt: null }
              : thread.latestTurn && { ...thread.latestTurn, state: "completed" as const };
          threads.set(thread.id, { ...thread, session: payload.session, latestTurn });
        }
        if (type === "thread.activity-appended") {
          const { id, turnId, tone, kind, summary, createdAt } = payload.activity;
          const json = JSON.stringify(payload.activity.payload);
          yield* sql`INSERT INTO projection_thread_activities
            (activity_id, thread_id, turn_id, tone, kind, summary, payload_json, created_at)
            VALUES (${id}, ${payload.threadId}, ${turnId}, ${tone}, ${kind}, ${summary}, ${json}, ${createdAt})`.pipe(
            Effect.orDie,
          );
        }
      }),
    });
  }),
);

export const ProjectionSnapshotQueryLive = Layer.effect(
  ProjectionSnapshotQuery,
  Effect.map(Projection, ({ threads }) => ({
    getShellSnapshot: () =>
      Effect.sync(() => ({
        snapshotSequence: 1,
        threads: [...threads.values()].filter(({ archivedAt }) => archivedAt === null),
      })),
    getThreadShellById: (threadId) =>
      Effect.sync(() => Option.fromNullishOr(threads.get(threadId))),
  })),
);
