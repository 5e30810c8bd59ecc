import type {
  OrchestrationV2AppThread,
  OrchestrationV2ConversationMessage,
  OrchestrationV2ProviderThread,
  OrchestrationV2ProviderTurn,
  ProviderThreadId,
  ProviderTurnId,
} from "@t3tools/contracts";
import type * as Stream from "effect/Stream";

export type ProviderAdapterV2Event = { readonly driver: string } & (
  | { readonly type: "app_thread.created"; readonly appThread: OrchestrationV2AppThread }
  | {
      readonly type: "provider_thread.updated";
      readonly providerThread: OrchestrationV2ProviderThread;
    }
  | { readonly type: "provider_turn.updated"; readonly providerTurn: OrchestrationV2ProviderTurn }
  | { readonly type: "message.updated"; readonly message: OrchestrationV2ConversationMessage }
  | {
      readonly type: "turn.terminal";
      readonly providerThreadId: ProviderThreadId;
      readonly providerTurnId: ProviderTurnId;
      readonly status: "completed" | "interrupted" | "failed" | "cancelled";
    }
);

export interface ProviderAdapterV2SessionRuntime {
  readonly events: Stream.Stream<ProviderAdapterV2Event>;
}
