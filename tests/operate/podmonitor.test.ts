import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { makePack, PACK_KNOBS } from '../../rules/pack.ts'
import { root } from './example-prometheus.ts'

const FILE = join(root, 'rules/kubernetes/podmonitor.yaml')

const duration = z.string().regex(/^(0|(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?)$/)
const labels = z.record(z.string(), z.string())

/** The fields of the operator's PodMonitor that may be wanted here, with their types; any other is refused. */
const PodMonitor = z.strictObject({
  apiVersion: z.literal('monitoring.coreos.com/v1'),
  kind: z.literal('PodMonitor'),
  metadata: z.strictObject({ name: z.string(), namespace: z.string().optional(), labels: labels.optional() }),
  spec: z.strictObject({
    jobLabel: z.string().optional(),
    podTargetLabels: z.array(z.string()).optional(),
    namespaceSelector: z
      .strictObject({ any: z.boolean().optional(), matchNames: z.array(z.string()).optional() })
      .optional(),
    selector: z.strictObject({ matchLabels: labels }),
    podMetricsEndpoints: z
      .array(
        z.strictObject({
          port: z.string().max(15),
          path: z.string().startsWith('/').optional(),
          scheme: z.enum(['http', 'https']).optional(),
          interval: duration.optional(),
          scrapeTimeout: duration.optional(),
          authorization: z
            .strictObject({
              // A secret of the user's own scheme; basic authentication has a field of its own.
              type: z.string().refine((type) => type.toLowerCase() !== 'basic'),
              credentials: z.strictObject({ name: z.string(), key: z.string(), optional: z.boolean().optional() }),
            })
            .optional(),
        }),
      )
      .nonempty(),
  }),
})

test('the PodMonitor has only fields that the operator knows, of their types', async () => {
  const [endpoint] = PodMonitor.parse(parse(await readFile(FILE, 'utf8'))).spec.podMetricsEndpoints
  expect(endpoint).toMatchObject({
    path: '/metrics',
    authorization: { type: 'Bearer', credentials: { name: 'turnwatch-metrics', key: 'token' } },
  })
})

test('its pods get a job that ServerDown knows by its name, whatever their namespace', async () => {
  const { metadata } = PodMonitor.parse(parse(await readFile(FILE, 'utf8')))
  const jobs = makePack().alerts.find(({ alert }) => alert.name === 'ServerDown')?.knobs.jobs
  expect(`agents/${metadata.name}`).toMatch(new RegExp(`^(?:${jobs})$`))
})

test('its labels of a pod are among those that the rules aggregate over', () => {
  const aggregated = PACK_KNOBS.hostLabels.split(', ')
  expect(aggregated).toEqual(expect.arrayContaining(['instance', 'pod', 'container']))
})
