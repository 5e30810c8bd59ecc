/** `turnwatch/notifier`: ways out for messages, and what a host needs to make one of its own. */

export type { Phase } from '../instrumentation/events.ts'
export type { Resolution, StaleReason } from '../instrumentation/turn-counters.ts'
export { type Channel, type Delivered, DeliveryFailed, type Failure, type FailureReason, type Try } from './channel.ts'
export { type AlertmanagerOptions, alertmanagerChannel } from './channels/alertmanager.ts'
export { type WebhookOptions, webhookChannel } from './channels/webhook.ts'
export type { Message } from './message.ts'
export type { MessageFacts, MessageTemplate } from './message-text.ts'
export { callbackChannel, type NotifierOptions, type NotifyCallback, type NotifyOption } from './notifier-options.ts'
export type {
  Claimed,
  ClaimRequest,
  DeliveryState,
  KnownEpisode,
  OutboxBatch,
  OutboxStore,
  StoredDelivery,
  StoredEpisode,
} from './outbox-store.ts'
