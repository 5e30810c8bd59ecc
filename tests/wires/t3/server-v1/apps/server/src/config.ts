import * as Context from "effect/Context";

export class ServerConfig extends Context.Service<
  ServerConfig,
  {
    readonly stateDir: string;
    /** Null where provider events are not logged. */
    readonly providerEventLogPath: string | null;
  }
>()("t3/config/ServerConfig") {}
