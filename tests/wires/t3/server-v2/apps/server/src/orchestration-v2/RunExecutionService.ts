import type {
  OrchestrationV2AppThread,
  OrchestrationV2ProviderThread,
  OrchestrationV2Run,
  OrchestrationV2RunAttempt,
} from "@t3tools/contracts";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Fiber from "effect/Fiber";
import * as Layer from "effect/Layer";
import * as Stream from "effect/Stream";

import * as McpSessionRegistry from "../mcp/McpSessionRegistry.ts";
import { makeAssistantStreamingFilter } from "./assistantStreaming.ts";
import * as CheckpointService from "./CheckpointService.ts";
import type { ProviderAdapterV2Event, ProviderAdapterV2SessionRuntime } from "./ProviderAdapter.ts";
import * as ProviderEventIngestor from "./ProviderEventIngestor.ts";

export interface RunExecutionServiceV2StartRootRunInput {
  readonly appThread: OrchestrationV2AppThread;
  readonly session: ProviderAdapterV2SessionRuntime;
  readonly run: OrchestrationV2Run;
  readonly providerThread: OrchestrationV2ProviderThread;
  readonly attempt: OrchestrationV2RunAttempt;
  readonly shouldStartProviderTurn?: () => Effect.Effect<boolean>;
}

export interface RunExecutionServiceV2Shape {
  readonly startRootRun: (input: RunExecutionServiceV2StartRootRunInput) => Effect.Effect<void>;
}

export class RunExecutionServiceV2 extends Context.Service<
  RunExecutionServiceV2,
  RunExecutionServiceV2Shape
>()("t3/orchestration-v2/RunExecutionService/RunExecutionServiceV2") {}

export const layer: Layer.Layer<
  RunExecutionServiceV2,
  never,
  CheckpointService.CheckpointServiceV2 | ProviderEventIngestor.ProviderEventIngestorV2
> = Layer.effect(
  RunExecutionServiceV2,
  Effect.gen(function* () {
    const checkpointService = yield* CheckpointService.CheckpointServiceV2;
    const providerEventIngestor = yield* ProviderEventIngestor.ProviderEventIngestorV2;

    return RunExecutionServiceV2.of({
      startRootRun: (input) =>
        Effect.gen(function* () {
          yield* checkpointService.captureBaseline();
          const routeIdentity = {
            threadId: input.run.threadId,
            runId: input.run.id,
            attemptId: input.attempt.id,
            providerThreadId: input.providerThread.id,
          };
          const trackChildLifecycle = (_event: ProviderAdapterV2Event, _deliverable: boolean) =>
            Effect.void;
          const filterAssistantEvent = makeAssistantStreamingFilter();
          const providerEventFiber = yield* input.session.events.pipe(
            Stream.tap((event) =>
              Effect.gen(function* () {
                const deliveredEvent = filterAssistantEvent(event);
                if (deliveredEvent) {
                  yield* providerEventIngestor.ingestNormalized({
                    threadId: routeIdentity.threadId,
                    runId: routeIdentity.runId,
                    event: deliveredEvent,
                  });
                }
                yield* trackChildLifecycle(event, deliveredEvent !== null);
              }),
            ),
            Stream.takeUntil(({ type }) => type === "turn.terminal"),
            Stream.runDrain,
            Effect.catchCause((cause) => Effect.logWarning("ingestion failed", { cause })),
            Effect.forkDetach,
          );
          const shouldStart =
            input.shouldStartProviderTurn === undefined || (yield* input.shouldStartProviderTurn());
          if (!shouldStart) {
            yield* Fiber.interrupt(providerEventFiber);
            return;
          }
          yield* McpSessionRegistry.touchActiveMcpThread(input.run.threadId);
        }),
    });
  }),
);
