import { appendFileSync } from "node:fs";

import type { ThreadId } from "@t3tools/contracts";
import * as Effect from "effect/Effect";

export interface EventNdjsonLogger {
  readonly filePath: string;
  readonly write: (event: unknown, threadId: ThreadId | null) => Effect.Effect<void>;
  readonly close: () => Effect.Effect<void>;
}

export const makeEventNdjsonLogger = Effect.fn("makeEventNdjsonLogger")(function* (
  folder: string | null,
  options: { readonly stream: "native" | "canonical" },
) {
  if (folder === null) return undefined;
  const filePath = `${folder}/${options.stream}.ndjson`;
  const write = Effect.fn("write")(function* (event: unknown, threadId: ThreadId | null) {
    yield* Effect.sync(() => appendFileSync(filePath, `${JSON.stringify({ threadId, event })}\n`));
  });
  return { filePath, write, close: () => Effect.void } satisfies EventNdjsonLogger;
});
