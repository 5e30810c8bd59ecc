import type { ProviderRuntimeEvent, ProviderSession } from "@t3tools/contracts";
import * as Context from "effect/Context";
import type * as Effect from "effect/Effect";
import type * as Stream from "effect/Stream";

export interface ProviderServiceShape {
  readonly listSessions: () => Effect.Effect<ReadonlyArray<ProviderSession>>;
  readonly streamEvents: Stream.Stream<ProviderRuntimeEvent>;
}

export class ProviderService extends Context.Service<ProviderService, ProviderServiceShape>()(
  "t3/provider/Services/ProviderService",
) {}
