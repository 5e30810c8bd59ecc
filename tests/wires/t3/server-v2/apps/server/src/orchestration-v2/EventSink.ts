import type { RunAttemptId, RunId, ThreadId } from "@t3tools/contracts";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import { ProjectionTables } from "./ProjectionStore.ts";

export interface StoredEvent {
  readonly sequence: number;
  readonly event: unknown;
}

export class EventSinkV2 extends Context.Service<
  EventSinkV2,
  {
    readonly write: (event: unknown) => Effect.Effect<ReadonlyArray<StoredEvent>>;
    readonly writeIfRunCurrent: (
      gate: { threadId: ThreadId; runId: RunId; activeAttemptId: RunAttemptId },
      event: unknown,
    ) => Effect.Effect<ReadonlyArray<StoredEvent>>;
  }
>()("t3/orchestration-v2/EventSink/EventSinkV2") {}

export const layer = Layer.effect(
  EventSinkV2,
  Effect.map(ProjectionTables, (tables) => {
    let sequence = 0;
    const write = (event: unknown) => Effect.sync(() => [{ sequence: ++sequence, event }]);
    return EventSinkV2.of({
      write,
      writeIfRunCurrent: ({ threadId, runId, activeAttemptId }, event) => {
        const run = tables.get(threadId)?.runs.find(({ id }) => id === runId);
        return run?.activeAttemptId === activeAttemptId ? write(event) : Effect.succeed([]);
      },
    });
  }),
);
