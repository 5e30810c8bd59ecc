import * as Layer from "effect/Layer";

import { OrchestrationEngineLive } from "./Layers/OrchestrationEngine.ts";
import { ProjectionLive, ProjectionSnapshotQueryLive } from "./Layers/Projection.ts";

export const OrchestrationLayerLive = Layer.mergeAll(
  OrchestrationEngineLive,
  ProjectionSnapshotQueryLive,
).pipe(Layer.provideMerge(ProjectionLive));
