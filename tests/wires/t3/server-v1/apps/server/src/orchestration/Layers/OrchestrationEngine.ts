import type { OrchestrationCommand, OrchestrationEvent } from "@t3tools/contracts";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as PubSub from "effect/PubSub";
import * as Stream from "effect/Stream";

import {
  OrchestrationCommandInvariantError,
  OrchestrationCommandPreviouslyRejectedError,
} from "../Errors.ts";
import { OrchestrationEngineService } from "../Services/OrchestrationEngine.ts";
import { Projection } from "./Projection.ts";

const eventOf = (command: OrchestrationCommand): OrchestrationEvent => {
  const { threadId } = command;
  switch (command.type) {
    case "thread.turn.start":
      return {
        type: "thread.turn-start-requested",
        payload: { threadId, messageId: command.message.messageId },
      };
    case "thread.turn.interrupt":
      return { type: "thread.turn-interrupt-requested", payload: { threadId } };
    case "thread.session.set":
      return { type: "thread.session-set", payload: { threadId, session: command.session } };
    case "thread.activity.append":
      return { type: "thread.activity-appended", payload: { threadId, activity: command.activity } };
  }
};

/** Keeps a receipt for each command id. */
export const OrchestrationEngineLive = Layer.effect(
  OrchestrationEngineService,
  Effect.gen(function* () {
    const projection = yield* Projection;
    const events = yield* PubSub.unbounded<OrchestrationEvent>();
    const receipts = new Map<string, number | "rejected">();
    const dispatch = Effect.fn("dispatch")(function* (command: OrchestrationCommand) {
      const { commandId, threadId } = command;
      const receipt = receipts.get(commandId);
      if (receipt === "rejected")
        return yield* new OrchestrationCommandPreviouslyRejectedError({ commandId });
      if (receipt !== undefined) return { sequence: receipt };
      if (!projection.threads.has(threadId)) {
        receipts.set(commandId, "rejected");
        return yield* new OrchestrationCommandInvariantError({ detail: `no thread ${threadId}` });
      }
      const sequence = receipts.size + 1;
      receipts.set(commandId, sequence);
      projection.commands.push(command);
      const event = eventOf(command);
      yield* projection.apply(event);
      yield* PubSub.publish(events, event);
      return { sequence };
    });
    return {
      dispatch,
      get streamDomainEvents() {
        return Stream.fromPubSub(events);
      },
    };
  }),
);
