import type * as DateTime from "effect/DateTime";

import type {
  CommandId,
  MessageId,
  NodeId,
  ProviderThreadId,
  ProviderTurnId,
  RunAttemptId,
  RunId,
  ThreadId,
} from "./baseSchemas.ts";

export interface OrchestrationV2AppThread {
  readonly id: ThreadId;
  readonly title: string;
  readonly lineage: {
    readonly parentThreadId: ThreadId | null;
    readonly relationshipToParent: "fork" | "subagent" | null;
  };
  readonly archivedAt: DateTime.Utc | null;
  readonly deletedAt: DateTime.Utc | null;
}

export interface OrchestrationV2Run {
  readonly id: RunId;
  readonly threadId: ThreadId;
  readonly ordinal: number;
  readonly modelSelection: { readonly instanceId: string; readonly model: string };
  readonly activeAttemptId: RunAttemptId | null;
  readonly status:
    | "queued"
    | "preparing"
    | "starting"
    | "running"
    | "waiting"
    | "completed"
    | "interrupted"
    | "failed"
    | "cancelled"
    | "rolled_back";
}

export interface OrchestrationV2RunAttempt {
  readonly id: RunAttemptId;
  readonly runId: RunId;
  readonly attemptOrdinal: number;
  readonly providerThreadId: ProviderThreadId;
  readonly providerTurnId: ProviderTurnId | null;
  readonly status: "pending" | "running" | "completed" | "interrupted" | "failed" | "cancelled";
  readonly startedAt: DateTime.Utc | null;
}

export interface OrchestrationV2ProviderThread {
  readonly id: ProviderThreadId;
  readonly driver: string;
  readonly status: "active" | "idle" | "error";
}

export interface OrchestrationV2ProviderTurn {
  readonly id: ProviderTurnId;
  readonly providerThreadId: ProviderThreadId;
  readonly runAttemptId: RunAttemptId | null;
  readonly ordinal: number;
  readonly status: "pending" | "running" | "completed" | "interrupted" | "failed" | "cancelled";
}

export interface OrchestrationV2ConversationMessage {
  readonly id: MessageId;
  readonly threadId: ThreadId;
  readonly runId: RunId | null;
  readonly role: "user" | "assistant" | "system";
  readonly text: string;
}

export interface OrchestrationV2RuntimeRequest {
  readonly id: string;
  readonly nodeId: NodeId;
  readonly providerTurnId: ProviderTurnId | null;
  readonly kind: "approval" | "user_input";
  readonly status: "pending" | "resolved";
}

export interface OrchestrationV2ThreadProjection {
  readonly thread: OrchestrationV2AppThread;
  readonly runs: ReadonlyArray<OrchestrationV2Run>;
  readonly attempts: ReadonlyArray<OrchestrationV2RunAttempt>;
  readonly providerThreads: ReadonlyArray<OrchestrationV2ProviderThread>;
  readonly runtimeRequests: ReadonlyArray<OrchestrationV2RuntimeRequest>;
}

export type OrchestrationV2ServerCommand =
  | {
      readonly type: "message.dispatch";
      readonly commandId: CommandId;
      readonly threadId: ThreadId;
      readonly messageId: MessageId;
      readonly text: string;
      readonly attachments: ReadonlyArray<{ readonly type: "image"; readonly id: string }>;
      readonly dispatchMode: { readonly type: "start_immediately" | "queue_after_active" };
      readonly createdBy: "user" | "agent" | "system";
      readonly creationSource: "web" | "mcp" | "provider" | "server";
    }
  | {
      readonly type: "thread.archive";
      readonly commandId: CommandId;
      readonly threadId: ThreadId;
    };
