import type { ProviderRuntimeEvent } from "@t3tools/contracts";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as PubSub from "effect/PubSub";
import * as Stream from "effect/Stream";

import { ProviderAdapter } from "../Services/ProviderAdapter.ts";
import { ProviderService } from "../Services/ProviderService.ts";
import { ProviderEventLoggers } from "./ProviderEventLoggers.ts";

/** Every event goes to the canonical log, then to who listens. */
export const ProviderServiceLive = Layer.effect(
  ProviderService,
  Effect.gen(function* () {
    const { canonical: canonicalEventLogger } = yield* ProviderEventLoggers;
    const adapter = yield* ProviderAdapter;
    const events = yield* PubSub.unbounded<ProviderRuntimeEvent>();
    yield* adapter.streamEvents.pipe(
      Stream.runForEach((event) =>
        Effect.gen(function* () {
          if (canonicalEventLogger) yield* canonicalEventLogger.write(event, event.threadId);
          yield* PubSub.publish(events, event);
        }),
      ),
      Effect.forkScoped,
    );
    return {
      listSessions: () => Effect.sync(() => [...adapter.sessions.values()]),
      get streamEvents() {
        return Stream.fromPubSub(events);
      },
    };
  }),
);
