/** The history behind the pictures: the fleet's story and what the rules make of it, in a Prometheus. */

import { Archive } from './archive.ts'
import { runFleet } from './fleet.ts'
import { linesOf } from './openmetrics.ts'
import { recordedLines, ruleStages } from './recorded.ts'
import { type Story, seeded } from './story.ts'

export interface History extends AsyncDisposable {
  /** Address of the Prometheus that has it. */
  readonly url: string
}

export async function makeHistory(story: Story): Promise<History> {
  const archive = await Archive.make()
  try {
    await archive.add(scrapes(story))
    for (const rules of ruleStages()) {
      const lines: string[] = []
      const url = await archive.serve()
      for await (const line of recordedLines(rules, url, story.endMs - story.lengthMs, story.endMs)) lines.push(line)
      await archive.close()
      await archive.add(lines)
    }
    return { url: await archive.serve(), [Symbol.asyncDispose]: () => archive[Symbol.asyncDispose]() }
  } catch (error) {
    await archive[Symbol.asyncDispose]()
    throw error
  }
}

/** The notifier takes chance from Math.random, which is a seeded one meanwhile, so that every run is the same. */
async function* scrapes(story: Story): AsyncGenerator<string> {
  const { random } = Math
  Math.random = seeded(story.seed)
  try {
    for await (const scrape of runFleet(story)) yield linesOf(scrape)
  } finally {
    Math.random = random
  }
}
