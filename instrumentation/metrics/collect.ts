/** Reads every metric of the catalogue from the state of the watch. Only labels are kept between two scrapes. */

import { Families } from './families.ts'
import type { Family } from './family.ts'
import type { Measured, MeasuredHost } from './measured.ts'
import { ModelGroups } from './model-groups.ts'
import { collectModels } from './model-series.ts'
import { collectNotifier, collectSelf } from './own-series.ts'
import { collectRunning } from './running-turns.ts'
import { collectStreams } from './stream-series.ts'
import { collectThreads, ThreadLabels } from './thread-series.ts'

export type { PerThreadSeries } from './measured.ts'

/** The labels that a watch has given out: bounded by its pairs and its running turns. */
const labelsOf = new WeakMap<Measured, { readonly models: ModelGroups; readonly threads: ThreadLabels }>()

export function collectMetrics(detector: Measured, host: MeasuredHost): Family[] {
  detector.time.read()
  let labels = labelsOf.get(detector)
  if (labels === undefined) {
    labels = { models: new ModelGroups(), threads: new ThreadLabels() }
    labelsOf.set(detector, labels)
  }
  const families = new Families()
  const groups = labels.models.of(detector)
  collectModels(detector, families, groups)
  const running = collectRunning(detector, families, groups, host)
  collectThreads(detector.turns, families, running, host.perThread, labels.threads)
  collectStreams(host.streams, families)
  collectNotifier(host.notifier, families)
  collectSelf(detector, families, host.version)
  return families.all()
}
