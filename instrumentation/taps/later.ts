/** The only timer of the taps. */

/** Runs work once, after `ms`. */
export type Later = (ms: number, work: () => void) => void

/** It never keeps the process alive. */
export const later: Later = (ms, work) => {
  setTimeout(work, ms).unref?.()
}
