import type { ThreadId } from "@t3tools/contracts";
import * as Effect from "effect/Effect";

export const touchActiveMcpThread = (_threadId: ThreadId) => Effect.void;
