/**
 * Exports the metrics of a new watch to the URL that it is given, every so many ms, and has nothing else to do after a
 * second. Prints how many exports failed when it ends.
 */

import { startOtlp } from '../../instrumentation/metrics/opentelemetry.ts'
import { createTurnwatch } from '../../turnwatch.ts'

let faults = 0
await startOtlp(createTurnwatch(), {
  url: process.argv[2] as string,
  intervalMs: Number(process.argv[3]),
  resource: { 'service.name': 'tests', 'service.instance.id': 'one' },
  onError: () => faults++,
})
process.on('exit', () => console.log(faults > 0 ? 'told of failures' : 'told of none'))
setTimeout(() => {}, 1000)
