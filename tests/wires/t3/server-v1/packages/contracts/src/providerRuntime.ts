import type { ThreadId, TurnId } from "./baseSchemas.ts";

export interface ProviderRuntimeEvent {
  readonly eventId: string;
  readonly provider: string;
  readonly threadId: ThreadId;
  readonly turnId?: TurnId;
  readonly createdAt: string;
  readonly type: string;
  readonly payload: unknown;
}

export interface ProviderSession {
  readonly provider: string;
  readonly threadId: ThreadId;
  readonly status: "connecting" | "ready" | "running" | "error" | "closed";
  readonly model?: string;
  readonly activeTurnId?: TurnId;
  readonly lastError?: string;
}
