/** Pods with a Listener each, side by side with the same pods without a claim, and with a claim of a driver that does nothing. */
import { listenerClasses } from '../../../src/api/listeners/index.ts';
import { pods } from '../../../src/kube/resource.ts';
import type { Pod } from '../../../src/kube/objects.ts';
import { byClass, listenerClass, statefulSet, STORAGE_CLASS, type Manifest } from '../../../test/e2e/support/manifests.ts';
import { CallCounter, sizeOf } from '../../cluster/audit.ts';
import type { Bench } from '../bench.ts';
import { expect } from '../../cluster/expectation.ts';
import { describeStart, paceOf, stragglersOf, type Pace } from '../pod-start.ts';
import { readStarts } from '../read-starts.ts';
import { memory } from '../../cluster/containers.ts';
import { drivers } from '../processes.ts';
import { startTrivialDriver, TRIVIAL, type TrivialDriver } from '../trivial-driver/trivial-driver.ts';
import { statefulSets, Workspace } from '../workspace.ts';

/** Volumes of each pod: no claim, one of the driver that does nothing, one of ours. */
type Variant = 'bare' | 'trivial' | 'pods';

const WORDS: Readonly<Record<Variant, string>> = {
  bare: 'without a claim',
  trivial: 'with a claim of the trivial driver',
  pods: 'with a Listener',
};

export async function measureStatefulSet(bench: Bench): Promise<void> {
  await assertRoom(bench);
  await using trivial = await startTrivialDriver(bench);
  for (let round = 1; round <= bench.sizes.rounds; round++) {
    const bare = await withoutListeners(bench, 'bare', round, trivial);
    const claimed = await withoutListeners(bench, 'trivial', round, trivial);
    recordRatios(bench, { bare, trivial: claimed, pods: await withListeners(bench, round, trivial) });
  }
}

async function withoutListeners(bench: Bench, variant: Variant, round: number, trivial: TrivialDriver): Promise<Pace> {
  const workspace = await Workspace.open(bench, `${variant}-${round}`);
  const pace = await run(bench, workspace, variant, round, trivial);
  await workspace.close();
  return pace;
}

async function withListeners(bench: Bench, round: number, trivial: TrivialDriver): Promise<Pace> {
  const { client, cluster, sizes, record, log } = bench;
  const workspace = await Workspace.open(bench, `pods-${round}`);
  await client.create(listenerClasses, listenerClass(workspace.name, { serviceType: 'NodePort', pinnedNodePorts: true }));
  const calls = await CallCounter.start(cluster);
  const pace = await run(bench, workspace, 'pods', round, trivial);
  await calls.quiet();
  const { own } = calls;
  const sidecar = calls.of('sidecar');
  record('pod-writes', own.writes / sizes.pods);
  record('pod-events', own.events / sizes.pods);
  record('pod-reads', own.reads / sizes.pods);
  record('sidecar-writes', sidecar.writes / sizes.pods);
  record('sidecar-reads', sidecar.reads / sizes.pods);
  log(
    `round ${round}: ${own.writes} writes (${own.events} of them events), ${own.reads} reads; ` +
      `the sidecar's ${sidecar.writes} and ${sidecar.reads}`,
  );

  const resident = await Promise.all((await drivers(cluster)).map(memory));
  record('driver-memory', Math.max(...resident));
  log(`round ${round}: the node drivers hold ${resident.map((each) => each.toFixed(0)).join(' and ')} MB`);
  await workspace.close();
  return pace;
}

/** Creates the StatefulSet, waits until the last of its pods runs, and reports late ones. */
async function run(bench: Bench, workspace: Workspace, variant: Variant, round: number, trivial: TrivialDriver): Promise<Pace> {
  const { client, cluster, sizes, record, log } = bench;
  const manifest = setOf(variant, workspace.name, sizes.pods);
  await using running = await expect<Pod>(bench, pods, {
    namespace: workspace.name,
    what: 'running pods',
    count: sizes.pods,
    isThere: ({ status }) => status?.phase === 'Running',
    timeoutMs: 120_000 + 2_000 * sizes.pods,
  });
  const offset = await sizeOf(cluster.auditLog);
  const start = performance.now();
  await client.create(statefulSets, { ...manifest, metadata: { ...manifest.metadata, namespace: workspace.name } });
  await running.reached;

  const pace = paceOf(running.seen.map(({ at }) => (at - start) / 1_000));
  record(`${variant}-seconds`, pace.last);
  record(`${variant}-p50`, pace.median);
  record(`${variant}-p90`, pace.p90);
  record(`${variant}-gap`, pace.gap);
  const of = [pace.median, pace.p90, pace.last].map((seconds) => seconds.toFixed(2));
  log(`round ${round}: of ${sizes.pods} pods ${WORDS[variant]}, half run after ${of[0]} s, 90 % after ${of[1]} s, all after ${of[2]} s`);
  const known = { offset, start, namespace: workspace.name, running: running.seen, mounts: trivial.mounts };
  for (const straggler of stragglersOf(await readStarts(cluster.auditLog, known))) {
    const text = describeStart(straggler);
    bench.tell(`StatefulSet, round ${round}, ${WORDS[variant]}: ${text}`);
    log(`  late: ${text}`);
  }
  return pace;
}

function setOf(variant: Variant, className: string, replicas: number): Manifest {
  const storageClass = variant === 'trivial' ? TRIVIAL : STORAGE_CLASS;
  const templates = { bare: {}, trivial: { listener: {} }, pods: { listener: byClass(className) } }[variant];
  return statefulSet('web', replicas, templates, { ports: [{ name: 'http', containerPort: 8_080 }], storageClass });
}

function recordRatios({ record, log }: Bench, { bare, trivial, pods: exposed }: Readonly<Record<Variant, Pace>>): void {
  record('pods-ratio', exposed.last / bare.last);
  record('pods-p90-ratio', exposed.p90 / bare.p90);
  record('pods-trivial-ratio', exposed.last / trivial.last);
  record('pods-trivial-p90-ratio', exposed.p90 / trivial.p90);
  record('trivial-ratio', trivial.last / bare.last);
  record('trivial-p90-ratio', trivial.p90 / bare.p90);
  const times = (over: Pace): string => `${(exposed.last / over.last).toFixed(2)} × (90 %: ${(exposed.p90 / over.p90).toFixed(2)} ×)`;
  log(`with a Listener it takes ${times(bare)} the time without a claim, and ${times(trivial)} that with the trivial driver's`);
}

/** Pods that wait for a place on a node would measure the nodes. */
async function assertRoom({ cluster, sizes }: Bench): Promise<void> {
  const { items } = await cluster.api.get<{ items: readonly { status: { allocatable: { pods: string } } }[] }>('/api/v1/nodes');
  const most = items.reduce((total, { status }) => total + Number(status.allocatable.pods), 0);
  const { items: taken } = await cluster.api.get<{ items: readonly unknown[] }>('/api/v1/pods');
  const free = most - taken.length;
  if (free < sizes.pods) throw new Error(`${sizes.pods} pods do not fit: the nodes take ${most}, and ${taken.length} are there`);
}
