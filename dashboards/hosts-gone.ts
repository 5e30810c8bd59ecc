/** Hosts that vanished while turns ran there, as the overview and the health dashboard show them. */

import { PACK_KNOBS } from '../rules/pack.ts'
import { recorded, shown } from './scope.ts'
import { noneIsGood } from './states.ts'

const HOST = `job, instance, ${PACK_KNOBS.clusterLabels}`

/** As the alert HostVanishedWithTurnsRunning does. 0 only while the rules run that it rests on. */
const hostsGone = `count(max by (${HOST}) (last_over_time(${recorded('instance:turnwatch_turns_running:sum')}[1h])) > 0 unless on (${HOST}) ${shown('build_info')}) or 0 * sum(${recorded('job:turnwatch_hosts:count')})`

export const HOSTS_GONE = {
  title: 'Hosts gone with turns running',
  description:
    'Hosts seen in the last hour that are no longer there, and had turns running when they last were. Nobody watches those turns. 0 is good.',
  unit: 'short',
  steps: noneIsGood('red'),
  queries: [{ expr: hostsGone, legend: 'Hosts' }],
  blind: 'No host, or no rules',
} as const
