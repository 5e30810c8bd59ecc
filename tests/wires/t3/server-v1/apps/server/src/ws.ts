import * as Effect from "effect/Effect";
import { HttpRouter, HttpServerResponse } from "effect/unstable/http";

export const websocketRpcRouteLayer = HttpRouter.add(
  "GET",
  "/ws",
  Effect.succeed(HttpServerResponse.empty({ status: 426 })),
);
