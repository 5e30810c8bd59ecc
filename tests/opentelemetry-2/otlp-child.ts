/** Exports the metrics of a new watch once to the URL that it is given, with the packages of this folder. */

import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier,
      specifier.startsWith('@opentelemetry/') ? { ...context, parentURL: inHere(context.parentURL) } : context,
    ),
})

/** Packages find each other as they do without us; whoever else asks is given those of this folder. */
function inHere(parent: string | undefined): string | undefined {
  return parent?.includes('/node_modules/') ? parent : import.meta.url
}

const { startOtlp } = await import('../../instrumentation/metrics/opentelemetry.ts')
const { createTurnwatch } = await import('../../turnwatch.ts')
const otlp = await startOtlp(createTurnwatch(), {
  url: process.argv[2] as string,
  resource: { 'service.name': 'tests', 'service.instance.id': 'one' },
})
await otlp.flush()
await otlp.stop()
