import * as Context from "effect/Context";

export class ServerConfig extends Context.Service<ServerConfig, { readonly stateDir: string }>()(
  "t3/config/ServerConfig",
) {}
