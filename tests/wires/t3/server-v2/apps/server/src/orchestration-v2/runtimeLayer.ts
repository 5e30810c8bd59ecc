import * as Layer from "effect/Layer";
import * as CheckpointService from "./CheckpointService.ts";
import * as EventSink from "./EventSink.ts";
import * as ProjectionStore from "./ProjectionStore.ts";
import * as ProviderEventIngestor from "./ProviderEventIngestor.ts";
import * as RunExecutionService from "./RunExecutionService.ts";
import * as ThreadManagementService from "./ThreadManagementService.ts";

const layerEventSinkProvided = EventSink.layer;

const layerProviderEventIngestorProvided = ProviderEventIngestor.layer.pipe(
  Layer.provide(
    Layer.mergeAll(
      layerEventSinkProvided,
      ProjectionStore.layer,
    ),
  ),
);

const layerCheckpointServiceProvided = CheckpointService.layer.pipe(
  Layer.provide(layerEventSinkProvided),
);

const layerRunExecutionServiceProvided = RunExecutionService.layer.pipe(
  Layer.provide(
    Layer.mergeAll(
      layerCheckpointServiceProvided,
      layerEventSinkProvided,
      layerProviderEventIngestorProvided,
    ),
  ),
);

const layerThreadManagementProvided = ThreadManagementService.layer.pipe(
  Layer.provide(ProjectionStore.layer),
);

export const layer = Layer.mergeAll(
  layerThreadManagementProvided,
  layerRunExecutionServiceProvided,
  layerProviderEventIngestorProvided,
);

export const layerProduction = Layer.mergeAll(
  layer,
  ProjectionStore.layer,
);
