import * as Layer from "effect/Layer";

import * as EnvironmentAuth from "./auth/EnvironmentAuth.ts";
import { staticAndDevRouteLayer } from "./http.ts";
import { ProjectionTables } from "./orchestration-v2/ProjectionStore.ts";
import * as OrchestrationV2 from "./orchestration-v2/runtimeLayer.ts";
import * as Persistence from "./persistence/Sqlite.ts";
import { websocketRpcRouteLayer } from "./ws.ts";

const RuntimeDependenciesLive = OrchestrationV2.layerProduction.pipe(
  Layer.provideMerge(Layer.sync(ProjectionTables, () => new Map())),
  Layer.provideMerge(Persistence.layerConfig),
  Layer.provideMerge(EnvironmentAuth.layer),
);

export const makeRoutesLayer = Layer.mergeAll(
  Layer.mergeAll(
    staticAndDevRouteLayer,
    websocketRpcRouteLayer,
  ),
);

/** The server but for its sockets: it needs its configuration and a router. */
export const makeServerLayer = makeRoutesLayer.pipe(Layer.provideMerge(RuntimeDependenciesLive));
