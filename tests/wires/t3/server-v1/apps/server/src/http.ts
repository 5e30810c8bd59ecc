import * as Effect from "effect/Effect";
import { HttpRouter, HttpServerResponse } from "effect/unstable/http";

export const staticAndDevRouteLayer = HttpRouter.add(
  "GET",
  "*",
  Effect.succeed(HttpServerResponse.text("the web client")),
);
