/** What a watch keeps over a restart. */

import type { SampleStore } from '../detector/sample-store.ts'
import type { OutboxStore } from '../notifier/outbox-store.ts'

export interface Store extends SampleStore {
  /** Where messages are kept. @default memory only */
  readonly outbox?: OutboxStore
}
