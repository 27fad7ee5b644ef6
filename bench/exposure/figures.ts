/** Which figures there are, what they should reach, and whether they do: pure. */
import { format } from '../markdown.ts';
import { median, percentile } from '../statistics.ts';
import type { ScenarioName, Sizes } from './options.ts';

export type Unit = '×' | 's' | 'MB' | '%' | '';

export interface Figure {
  readonly id: string;
  readonly scenario: ScenarioName;
  readonly what: string;
  readonly unit: Unit;
  /** Which value stands for all samples. */
  readonly by: 'median' | 'p99' | 'most';
  /** How many of them a whole run takes. */
  readonly samples: number;
  /** The most that it should be. Left out: it explains other figures. */
  readonly limit?: number;
}

/** The table, in its order, for runs of this size. */
export function figuresOf({ rounds, listeners, pods, addressChanges, idleSeconds }: Sizes): readonly Figure[] {
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
  const aim = (scenario: ScenarioName, id: string, what: string, limit: number, unit: Unit = '', by: Figure['by'] = 'median'): Figure => ({
    scenario,
    id,
    what,
    limit,
    unit,
    by,
    samples: samples[scenario],
  });
  const explain = (scenario: ScenarioName, id: string, what: string, unit: Unit = ''): Figure => ({
    scenario,
    id,
    what,
    unit,
    by: 'median',
    samples: samples[scenario],
  });
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

export type Outcome =
  | { readonly kind: 'not-asked' }
  | { readonly kind: 'failed'; readonly why: string }
  | {
      readonly kind: 'measured';
      readonly value: number;
      readonly least: number;
      readonly most: number;
      readonly count: number;
      /** Why the scenario broke off before it had all samples. */
      readonly brokeOff?: string;
    };

const standsFor: Readonly<Record<Figure['by'], (samples: readonly number[]) => number>> = {
  median,
  p99: (samples) => percentile(samples, 0.99),
  most: (samples) => Math.max(...samples),
};

/** `failure` is why the figure's scenario broke off; undefined where it ran to its end, or was not asked for. */
export function outcomeOf(figure: Figure, samples: readonly number[], failure: string | undefined): Outcome {
  if (samples.length === 0) return failure === undefined ? { kind: 'not-asked' } : { kind: 'failed', why: failure };
  return {
    kind: 'measured',
    value: standsFor[figure.by](samples),
    least: Math.min(...samples),
    most: Math.max(...samples),
    count: samples.length,
    ...(failure === undefined || samples.length >= figure.samples ? {} : { brokeOff: failure }),
  };
}

/** `met`, or by how much it was missed; empty for what has no limit. What is not whole is not met. */
export function verdictOf({ limit, unit }: Figure, outcome: Outcome): string {
  if (outcome.kind === 'failed') return 'failed';
  if (outcome.kind === 'not-asked' || limit === undefined) return '';
  if (outcome.value <= limit) return outcome.brokeOff === undefined ? 'met' : 'incomplete';
  const excess = outcome.value - limit;
  return limit === 0 ? `missed by ${format(excess, unit)}` : `missed by ${format(excess, unit)} (${Math.ceil((100 * excess) / limit)} %)`;
}

/** When half, nearly all, and all of the pods of a StatefulSet run. */
function paces(
  explain: (scenario: ScenarioName, id: string, what: string, unit: Unit) => Figure,
  variant: string,
  what: string,
): readonly Figure[] {
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

function span(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
