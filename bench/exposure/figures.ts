/** Which figures there are, and what they should reach: pure. */
import { rows, span, type Figure, type Unit } from '../cluster/figures.ts';
import type { ScenarioName, Sizes } from './options.ts';

/** The table, in its order, for runs of this size. */
export function figuresOf({ rounds, listeners, pods, addressChanges, idleSeconds }: Sizes): readonly Figure<ScenarioName>[] {
  const many = listeners.toLocaleString('en');
  const most = (5 * listeners).toLocaleString('en');
  const samples: Readonly<Record<ScenarioName, number>> = {
    listeners: rounds,
    'stateful-set': rounds,
    memory: rounds,
    'node-address': addressChanges,
    idle: 1,
    refused: 1,
  };
  const { aim, explain } = rows(samples);
  return [
    aim(
      'listeners',
      'ready-ratio',
      `${many} ClusterIP Listeners created at once until the last has its address, against creating and patching ${many} Services`,
      1.7,
      '×',
    ),
    aim('listeners', 'ready-writes', 'API writes for each of those Listeners', 2.2),
    aim('listeners', 'ready-reads', 'API reads for each of those Listeners', 0),
    aim('listeners', 'class-writes', `the class's annotations change: API writes for each of the ${many}`, 1.1),
    aim('listeners', 'class-reads', "the class's annotations change: API reads for each", 0),
    aim('listeners', 'class-seconds', "the class's annotations change until the last Service has the new one", 6, 's'),
    aim('idle', 'idle-writes', `nothing changes for ${span(idleSeconds)}, a resync of ${many} Listeners included: API writes`, 0),
    aim('idle', 'idle-lists', 'the same: lists', 0),
    aim('idle', 'idle-cpu', 'the same: CPU of all controller processes together, of one core', 0.5, '%'),
    aim(
      'refused',
      'refused-writes',
      `the same for ${span(refusedSeconds(idleSeconds))} with ${many} Listeners that are refused: API writes`,
      0,
    ),
    aim('refused', 'refused-lists', 'the same: lists', 0),
    aim(
      'stateful-set',
      'pods-ratio',
      `StatefulSet of ${pods} pods with a Listener each until all run, against ${pods} without a claim`,
      1.5,
      '×',
    ),
    aim('stateful-set', 'pods-p90-ratio', 'the same until 90 % of them run, against those without a claim', 1.4, '×'),
    aim('stateful-set', 'pods-gap', 'how long after the last but two the last of them runs, at worst', 5, 's', 'most'),
    aim('stateful-set', 'pod-writes', 'API writes for each such pod', 6),
    aim('stateful-set', 'pod-reads', 'API reads for each such pod', 3),
    aim('memory', 'memory-one', 'resident memory of the leading controller at 1 Listener', 90, 'MB'),
    aim('memory', 'memory-many', `the same at ${many} Listeners`, 110, 'MB'),
    aim('memory', 'memory-most', `the same at ${most} Listeners`, 150, 'MB'),
    aim(
      'stateful-set',
      'driver-memory',
      `resident memory of the node driver, the larger of two, while its node runs half of the ${pods} pods`,
      80,
      'MB',
    ),
    aim('node-address', 'address-p99', "a Node's address changes until the file in the pod is new, 99th percentile", 2, 's', 'p99'),

    explain('listeners', 'services-seconds', `${many} Services created and patched, 32 at a time`, 's'),
    explain('listeners', 'ready-seconds', `${many} Listeners created, 32 at a time, until the last has its address`, 's'),
    explain('listeners', 'ready-events', 'Kubernetes events among the writes for each of those Listeners'),
    explain('listeners', 'class-events', "the class's annotations change: Kubernetes events among the writes for each"),
    explain('idle', 'idle-lease', 'nothing changes: writes and reads of the leader-election Lease a minute, both replicas together'),
    explain('idle', 'idle-cpu-leader', 'nothing changes: CPU of the leading controller', '%'),
    explain('refused', 'refused-reads', `nothing changes with ${many} Listeners that are refused: API reads`),
    explain('refused', 'refused-cpu', 'the same: CPU of the leading controller', '%'),
    explain('idle', 'idle-cpu-driver', 'nothing changes: CPU of the two node drivers together', '%'),
    ...paces(explain, 'bare', `StatefulSet of ${pods} pods without a claim`),
    ...paces(explain, 'trivial', `StatefulSet of ${pods} pods with a claim of the trivial driver each`),
    ...paces(explain, 'pods', `StatefulSet of ${pods} pods with a Listener each`),
    explain('stateful-set', 'bare-gap', 'how long after the last but two the last runs, without a claim', 's'),
    explain('stateful-set', 'trivial-gap', 'the same with the trivial driver', 's'),
    explain('stateful-set', 'trivial-ratio', 'the trivial driver against no claim: until all run', '×'),
    explain('stateful-set', 'trivial-p90-ratio', 'the same until 90 % run', '×'),
    explain('stateful-set', 'pods-trivial-ratio', 'a Listener against the trivial driver: until all run', '×'),
    explain('stateful-set', 'pods-trivial-p90-ratio', 'the same until 90 % run', '×'),
    explain('stateful-set', 'pod-events', 'Kubernetes events among the writes for each such pod'),
    explain('stateful-set', 'sidecar-writes', 'API writes of the sidecar csi-provisioner for each such pod'),
    explain('stateful-set', 'sidecar-reads', 'API reads of the sidecar csi-provisioner for each such pod'),
    explain('memory', 'memory-standby-one', 'resident memory of the waiting controller at 1 Listener', 'MB'),
    explain('memory', 'memory-standby-many', `the same at ${many} Listeners`, 'MB'),
    explain('memory', 'memory-standby-most', `the same at ${most} Listeners`, 'MB'),
    explain('node-address', 'address-p50', "a Node's address changes until the file in the pod is new, median", 's'),
  ];
}

/** When half, nearly all, and all of the pods of a StatefulSet run. */
function paces(
  explain: (scenario: ScenarioName, id: string, what: string, unit: Unit) => Figure<ScenarioName>,
  variant: string,
  what: string,
): readonly Figure<ScenarioName>[] {
  return [
    explain('stateful-set', `${variant}-p50`, `${what} until half run`, 's'),
    explain('stateful-set', `${variant}-p90`, 'the same until 90 % run', 's'),
    explain('stateful-set', `${variant}-seconds`, 'the same until all run', 's'),
  ];
}

/** Several times the pause after which a refused Listener is looked at again, for a fifth of what the idle minutes take. */
export function refusedSeconds(idleSeconds: number): number {
  return idleSeconds / 5;
}
