import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import * as EnvironmentAuth from "./auth/EnvironmentAuth.ts";
import * as ServerConfig from "./config.ts";
import { staticAndDevRouteLayer } from "./http.ts";
import { ProviderRuntimeIngestionLive } from "./orchestration/Layers/ProviderRuntimeIngestion.ts";
import { OrchestrationLayerLive } from "./orchestration/runtimeLayer.ts";
import { layerConfig as SqlitePersistenceLayerLive } from "./persistence/Layers/Sqlite.ts";
import { CodexAdapterLive } from "./provider/Layers/CodexAdapter.ts";
import * as ProviderEventLoggers from "./provider/Layers/ProviderEventLoggers.ts";
import { ProviderServiceLive } from "./provider/Layers/ProviderService.ts";
import * as ResetCreditCoordinator from "./provider/Layers/resetCreditCoordinator.ts";
import * as ModelManifest from "./provider/ModelManifest.ts";
import { websocketRpcRouteLayer } from "./ws.ts";

const ProviderRuntimeLayerLive = ProviderServiceLive.pipe(
  Layer.provideMerge(CodexAdapterLive),
  Layer.provideMerge(OrchestrationLayerLive),
);

const RuntimeDependenciesLive = ProviderRuntimeIngestionLive.pipe(
  Layer.provideMerge(ProviderRuntimeLayerLive),
  Layer.provideMerge(SqlitePersistenceLayerLive),
  Layer.provideMerge(
    Layer.mergeAll(ProviderEventLoggers.layer, ModelManifest.layer, ResetCreditCoordinator.layer),
  ),
  Layer.provideMerge(EnvironmentAuth.layer),
);

export const makeRoutesLayer = Layer.mergeAll(
  Layer.mergeAll(
    staticAndDevRouteLayer,
    websocketRpcRouteLayer,
  ),
);

/** The server but for its sockets: it needs its configuration and a router. */
export const makeServerLayer = Layer.unwrap(
  Effect.gen(function* () {
    yield* ServerConfig.ServerConfig;
    const httpListeningLayer = Layer.empty;
    const serverApplicationLayer = Layer.mergeAll(
      makeRoutesLayer,
      httpListeningLayer,
    );
    return serverApplicationLayer.pipe(Layer.provideMerge(RuntimeDependenciesLive));
  }),
);
