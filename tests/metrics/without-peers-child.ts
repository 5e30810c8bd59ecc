/** Prints what `startOtlp` says where two of its packages are not installed. */

import { registerHooks } from 'node:module'

const MISSING = ['@opentelemetry/resources', '@opentelemetry/exporter-metrics-otlp-http']

registerHooks({
  resolve(specifier, context, next) {
    // Those that are installed go on finding each other.
    const isMissing = MISSING.includes(specifier) && !context.parentURL?.includes('/node_modules/')
    return next(isMissing ? `${specifier}-that-nobody-has-installed` : specifier, context)
  },
})

const { startOtlp } = await import('../../instrumentation/metrics/opentelemetry.ts')
const { createTurnwatch } = await import('../../turnwatch.ts')
await startOtlp(createTurnwatch()).catch((error: Error) => console.log(error.message))
