import type { RunAttemptId, RunId, ThreadId } from "@t3tools/contracts";
import * as Context from "effect/Context";
import * as Data from "effect/Data";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import * as EventSink from "./EventSink.ts";
import type { ProviderAdapterV2Event } from "./ProviderAdapter.ts";

export class ProviderEventPublishError extends Data.TaggedError("ProviderEventPublishError") {}

export interface ProviderEventIngestInput {
  readonly threadId: ThreadId;
  readonly runId?: RunId;
  readonly event: ProviderAdapterV2Event;
}

export interface ProviderEventIngestorV2Shape {
  readonly normalize: (
    input: ProviderEventIngestInput,
  ) => Effect.Effect<ReadonlyArray<unknown>, ProviderEventPublishError>;
  readonly ingestNormalized: (
    input: ProviderEventIngestInput & {
      readonly writeIfRunCurrent?: {
        readonly runId: RunId;
        readonly activeAttemptId: RunAttemptId;
      };
    },
  ) => Effect.Effect<ReadonlyArray<EventSink.StoredEvent>, ProviderEventPublishError>;
}

export class ProviderEventIngestorV2 extends Context.Service<
  ProviderEventIngestorV2,
  ProviderEventIngestorV2Shape
>()("t3/orchestration-v2/ProviderEventIngestor/ProviderEventIngestorV2") {}

export const layer = Layer.effect(
  ProviderEventIngestorV2,
  Effect.map(EventSink.EventSinkV2, (sink) => {
    const normalize: ProviderEventIngestorV2Shape["normalize"] = ({ event }) =>
      Effect.succeed(event.type === "turn.terminal" && event.status !== "failed" ? [] : [event]);
    return ProviderEventIngestorV2.of({
      normalize,
      ingestNormalized: Effect.fn("ingestNormalized")(function* (input) {
        const [event] = yield* normalize(input);
        if (event === undefined) return [];
        const gate = input.writeIfRunCurrent;
        return yield* gate === undefined
          ? sink.write(event)
          : sink.writeIfRunCurrent({ threadId: input.threadId, ...gate }, event);
      }),
    });
  }),
);
