import type { CommandId, EventId, MessageId, ThreadId, TurnId } from "./baseSchemas.ts";

export type RuntimeMode = "approval-required" | "auto-accept-edits" | "full-access";
export type ProviderInteractionMode = "default" | "plan";

export interface ChatAttachment {
  readonly type: "image";
  readonly id: string;
}

export interface OrchestrationThreadActivity {
  readonly id: EventId;
  readonly tone: "info" | "tool" | "approval" | "error";
  readonly kind: string;
  readonly summary: string;
  readonly payload: unknown;
  readonly turnId: TurnId | null;
  readonly createdAt: string;
}

export interface OrchestrationSession {
  readonly providerName: string | null;
  readonly status: "idle" | "starting" | "running" | "ready" | "interrupted" | "stopped" | "error";
  readonly activeTurnId: TurnId | null;
}

export interface OrchestrationThreadShell {
  readonly id: ThreadId;
  readonly title: string;
  readonly modelSelection: { readonly instanceId: string; readonly model: string };
  readonly runtimeMode: RuntimeMode;
  readonly interactionMode: ProviderInteractionMode;
  readonly latestTurn: {
    readonly turnId: TurnId;
    readonly state: "running" | "interrupted" | "completed" | "error";
    readonly startedAt: string | null;
  } | null;
  readonly archivedAt: string | null;
  readonly session: OrchestrationSession | null;
  readonly hasPendingApprovals: boolean;
  readonly hasPendingUserInput: boolean;
}

export type OrchestrationCommand =
  | {
      readonly type: "thread.turn.start";
      readonly commandId: CommandId;
      readonly threadId: ThreadId;
      readonly message: {
        readonly messageId: MessageId;
        readonly role: "user";
        readonly text: string;
        readonly attachments: ReadonlyArray<ChatAttachment>;
      };
      readonly runtimeMode: RuntimeMode;
      readonly interactionMode: ProviderInteractionMode;
      readonly createdAt: string;
    }
  | {
      readonly type: "thread.turn.interrupt";
      readonly commandId: CommandId;
      readonly threadId: ThreadId;
      readonly turnId?: TurnId;
    }
  | {
      readonly type: "thread.session.set";
      readonly commandId: CommandId;
      readonly threadId: ThreadId;
      readonly session: OrchestrationSession;
    }
  | {
      readonly type: "thread.activity.append";
      readonly commandId: CommandId;
      readonly threadId: ThreadId;
      readonly activity: OrchestrationThreadActivity;
      readonly createdAt: string;
    };

export type OrchestrationEvent =
  | {
      readonly type: "thread.turn-start-requested";
      readonly payload: { readonly threadId: ThreadId; readonly messageId: MessageId };
    }
  | {
      readonly type: "thread.turn-interrupt-requested";
      readonly payload: { readonly threadId: ThreadId; readonly turnId?: TurnId };
    }
  | {
      readonly type: "thread.session-stop-requested";
      readonly payload: { readonly threadId: ThreadId };
    }
  | {
      readonly type: "thread.session-set";
      readonly payload: { readonly threadId: ThreadId; readonly session: OrchestrationSession };
    }
  | {
      readonly type: "thread.activity-appended";
      readonly payload: { readonly threadId: ThreadId; readonly activity: OrchestrationThreadActivity };
    };
