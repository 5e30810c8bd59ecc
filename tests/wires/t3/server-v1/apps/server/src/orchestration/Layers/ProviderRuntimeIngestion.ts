import { CommandId } from "@t3tools/contracts";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Stream from "effect/Stream";

import { ProviderService } from "../../provider/Services/ProviderService.ts";
import { OrchestrationEngineService } from "../Services/OrchestrationEngine.ts";

/** Lets the projection know which turns run. */
export const ProviderRuntimeIngestionLive = Layer.effectDiscard(
  Effect.gen(function* () {
    const engine = yield* OrchestrationEngineService;
    const providers = yield* ProviderService;
    yield* providers.streamEvents.pipe(
      Stream.filter(({ type }) => type === "turn.started" || type === "turn.completed"),
      Stream.runForEach(({ eventId, threadId, provider, type, turnId }) =>
        engine.dispatch({
          type: "thread.session.set",
          commandId: CommandId.make(`provider:${eventId}`),
          threadId,
          session: {
            providerName: provider,
            status: type === "turn.started" ? "running" : "ready",
            activeTurnId: type === "turn.started" ? (turnId ?? null) : null,
          },
        }),
      ),
      Effect.forkScoped,
    );
  }),
);
