import type { ProviderRuntimeEvent, ProviderSession, ThreadId } from "@t3tools/contracts";
import * as Context from "effect/Context";
import type * as Effect from "effect/Effect";
import type * as Stream from "effect/Stream";

export class ProviderAdapter extends Context.Service<
  ProviderAdapter,
  {
    /** What the provider's process has sent, and what it means. */
    readonly receive: (
      native: unknown,
      threadId: ThreadId,
      events: ReadonlyArray<ProviderRuntimeEvent>,
    ) => Effect.Effect<void>;
    readonly sessions: Map<ThreadId, ProviderSession>;
    readonly streamEvents: Stream.Stream<ProviderRuntimeEvent>;
  }
>()("t3/provider/Services/ProviderAdapter") {}
