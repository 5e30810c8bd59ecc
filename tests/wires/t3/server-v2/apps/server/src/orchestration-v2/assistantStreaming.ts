import type { ProviderAdapterV2Event } from "./ProviderAdapter.ts";

/** Keeps an assistant's text back until a paragraph of it is whole. */
export const makeAssistantStreamingFilter =
  () =>
  (event: ProviderAdapterV2Event): ProviderAdapterV2Event | null =>
    event.type === "message.updated" &&
    event.message.role === "assistant" &&
    !event.message.text.endsWith("\n\n")
      ? null
      : event;
