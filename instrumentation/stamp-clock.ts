/** What turns are stamped with. `read()` takes the time; the fields hold it until the next call. */
export interface StampClock {
  read(): void
  /** Observed ms: stands still while this process could not have read events. */
  readonly now: number
  /** The wall clock now in epoch ms, whenever `read` was: for display, and for times that a wire announces. */
  readonly wallMs: number
  wallAt(elapsedMs: number): number
  /** Real ms that passed, sleep included; steps of the wall clock do not move it. */
  readonly elapsedMs: number
  /** Rises with every pause; a gap that saw it rise gives no sample. */
  readonly pauseEpoch: number
}
