/** Pods with a Listener each, side by side with the same pods without. */
import { listenerClasses } from '../../../src/api/listeners/index.ts';
import { pods } from '../../../src/kube/resource.ts';
import type { Pod } from '../../../src/kube/objects.ts';
import { byClass, listenerClass, statefulSet, type ClaimAnnotations } from '../../../test/e2e/support/manifests.ts';
import { CallCounter } from '../audit.ts';
import type { Bench } from '../bench.ts';
import { expect } from '../expectation.ts';
import { drivers, memory } from '../processes.ts';
import { statefulSets, Workspace } from '../workspace.ts';

export async function measureStatefulSet(bench: Bench): Promise<void> {
  const { sizes, record, log } = bench;
  await assertRoom(bench);
  for (let round = 1; round <= sizes.rounds; round++) {
    const without = await Workspace.open(bench, `bare-${round}`);
    const baseline = await run(bench, without, {});
    record('bare-seconds', baseline);
    log(`round ${round}: ${sizes.pods} pods without a Listener run after ${baseline.toFixed(2)} s`);
    await without.close();

    const workspace = await Workspace.open(bench, `pods-${round}`);
    await withListeners(bench, workspace, round, baseline);
    await workspace.close();
  }
}

async function withListeners(bench: Bench, workspace: Workspace, round: number, baseline: number): Promise<void> {
  const { client, cluster, sizes, record, log } = bench;
  await client.create(listenerClasses, listenerClass(workspace.name, { serviceType: 'NodePort', pinnedNodePorts: true }));
  const calls = await CallCounter.start(cluster);
  const seconds = await run(bench, workspace, { listener: byClass(workspace.name) });
  await calls.quiet();
  const { own } = calls;
  const sidecar = calls.of('sidecar');
  record('pods-seconds', seconds);
  record('pods-ratio', seconds / baseline);
  record('pod-writes', own.writes / sizes.pods);
  record('pod-events', own.events / sizes.pods);
  record('pod-reads', own.reads / sizes.pods);
  record('sidecar-writes', sidecar.writes / sizes.pods);
  record('sidecar-reads', sidecar.reads / sizes.pods);
  log(
    `round ${round}: ${sizes.pods} pods with a Listener each run after ${seconds.toFixed(2)} s; ` +
      `${own.writes} writes (${own.events} of them events), ${own.reads} reads; the sidecar's ${sidecar.writes} and ${sidecar.reads}`,
  );

  const resident = await Promise.all((await drivers(cluster)).map(memory));
  record('driver-memory', Math.max(...resident));
  log(`round ${round}: the node drivers hold ${resident.map((each) => each.toFixed(0)).join(' and ')} MB`);
}

/** Seconds from the StatefulSet's creation until the last of its pods runs. */
async function run(bench: Bench, workspace: Workspace, templates: Readonly<Record<string, ClaimAnnotations>>): Promise<number> {
  const { client, sizes } = bench;
  const manifest = statefulSet('web', sizes.pods, templates, { ports: [{ name: 'http', containerPort: 8_080 }] });
  await using running = await expect<Pod>(bench, pods, {
    namespace: workspace.name,
    what: 'running pods',
    count: sizes.pods,
    isThere: ({ status }) => status?.phase === 'Running',
    timeoutMs: 120_000 + 2_000 * sizes.pods,
  });
  const start = performance.now();
  await client.create(statefulSets, { ...manifest, metadata: { ...manifest.metadata, namespace: workspace.name } });
  return ((await running.reached) - start) / 1_000;
}

/** Pods that wait for a place on a node would measure the nodes. */
async function assertRoom({ cluster, sizes }: Bench): Promise<void> {
  const { items } = await cluster.api.get<{ items: readonly { status: { allocatable: { pods: string } } }[] }>('/api/v1/nodes');
  const most = items.reduce((total, { status }) => total + Number(status.allocatable.pods), 0);
  const { items: taken } = await cluster.api.get<{ items: readonly unknown[] }>('/api/v1/pods');
  const free = most - taken.length;
  if (free < sizes.pods) throw new Error(`${sizes.pods} pods do not fit: the nodes take ${most}, and ${taken.length} are there`);
}
