/** Whether another supervisor tells a thread's parent, so that we do not. */

import type { NotifierOptions } from './notifier-options.ts'

/** Threads of Model Router, which tells the planner itself. */
const ROUTER_TITLE = /^model-router\s.*\b(?:dispatcher|worker seq \d+|review \d+)$/i
const ANSWER_MS = 1000

/** Whether the title is one that Model Router gives its threads. */
export function isRouterTitle(title: string): boolean {
  return ROUTER_TITLE.test(title.trim())
}

/** Null is undecided. A promise only where the host's own answer is one. */
export function managedElsewhere(
  threadId: string,
  title: string | null,
  ask: NotifierOptions['isManagedElsewhere'],
  fault: (error: unknown) => void,
): boolean | null | Promise<boolean | null> {
  const byTitle = title === null ? null : isRouterTitle(title)
  if (byTitle || ask === undefined) return byTitle
  const decided = (answer: unknown) => (typeof answer === 'boolean' ? answer : byTitle)
  const failed = (error: unknown) => {
    fault(error)
    return byTitle
  }
  try {
    const answer = ask(threadId, title)
    if (typeof answer !== 'object') return decided(answer)
    return Promise.race([Promise.resolve(answer).then(decided, failed), later(byTitle)])
  } catch (error) {
    return failed(error)
  }
}

function later<T>(value: T): Promise<T> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(value), ANSWER_MS).unref()
  })
}
