import type { AuthEnvironmentScope } from "@t3tools/contracts";
import * as Context from "effect/Context";
import * as Data from "effect/Data";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import type { HttpServerRequest } from "effect/unstable/http";

export class ServerAuthInvalidCredentialError extends Data.TaggedError(
  "ServerAuthInvalidCredentialError",
) {}

export interface AuthenticatedSession {
  readonly subject: string;
  readonly scopes: ReadonlyArray<AuthEnvironmentScope>;
}

export class EnvironmentAuth extends Context.Service<
  EnvironmentAuth,
  {
    readonly authenticateHttpRequest: (
      request: HttpServerRequest.HttpServerRequest,
    ) => Effect.Effect<AuthenticatedSession, ServerAuthInvalidCredentialError>;
  }
>()("t3/auth/EnvironmentAuth") {}

const scopesOf = new Map<string | undefined, ReadonlyArray<AuthEnvironmentScope>>([
  ["Bearer reader", ["orchestration:read"]],
  ["Bearer operator", ["orchestration:operate"]],
]);

export const layer = Layer.succeed(EnvironmentAuth, {
  authenticateHttpRequest: (request) => {
    const scopes = scopesOf.get(request.headers.authorization);
    return scopes === undefined
      ? Effect.fail(new ServerAuthInvalidCredentialError())
      : Effect.succeed({ subject: "test", scopes });
  },
});
