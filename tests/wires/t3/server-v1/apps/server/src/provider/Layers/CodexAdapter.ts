import type { ProviderRuntimeEvent } from "@t3tools/contracts";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Queue from "effect/Queue";
import * as Stream from "effect/Stream";

import { ProviderAdapter } from "../Services/ProviderAdapter.ts";
import { ProviderEventLoggers } from "./ProviderEventLoggers.ts";

export const CodexAdapterLive = Layer.effect(
  ProviderAdapter,
  Effect.gen(function* () {
    const { native: nativeEventLogger } = yield* ProviderEventLoggers;
    const queue = yield* Queue.unbounded<ProviderRuntimeEvent>();
    return ProviderAdapter.of({
      receive: Effect.fn("receive")(function* (native, threadId, events) {
        if (nativeEventLogger) yield* nativeEventLogger.write(native, threadId);
        yield* Queue.offerAll(queue, events);
      }),
      sessions: new Map(),
      streamEvents: Stream.fromQueue(queue),
    });
  }),
);
