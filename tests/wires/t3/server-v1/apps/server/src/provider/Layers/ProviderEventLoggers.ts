import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import * as Config from "../../config.ts";
import { type EventNdjsonLogger, makeEventNdjsonLogger } from "./EventNdjsonLogger.ts";

export class ProviderEventLoggers extends Context.Service<
  ProviderEventLoggers,
  {
    readonly native: EventNdjsonLogger | undefined;
    readonly canonical: EventNdjsonLogger | undefined;
  }
>()("t3/provider/ProviderEventLoggers") {}

export const layer = Layer.effect(
  ProviderEventLoggers,
  Effect.gen(function* () {
    const { providerEventLogPath } = yield* Config.ServerConfig;
    const native = yield* makeEventNdjsonLogger(providerEventLogPath, { stream: "native" });
    const canonical = yield* makeEventNdjsonLogger(providerEventLogPath, { stream: "canonical" });
    return ProviderEventLoggers.of({ native, canonical });
  }),
);
