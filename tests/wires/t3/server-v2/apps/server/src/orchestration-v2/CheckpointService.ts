import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

export class CheckpointServiceV2 extends Context.Service<
  CheckpointServiceV2,
  { readonly captureBaseline: () => Effect.Effect<void> }
>()("t3/orchestration-v2/CheckpointService/CheckpointServiceV2") {}

export const layer = Layer.succeed(CheckpointServiceV2, { captureBaseline: () => Effect.void });
