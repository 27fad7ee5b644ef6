/** Work of Earshot while nothing changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { listenerClasses } from '../../../src/api/listeners/index.ts';
import { endpointSlices } from '../../../src/kube/resource.ts';
import { listenerClass } from '../../../test/e2e/support/manifests.ts';
import { CallCounter } from '../../cluster/audit.ts';
import type { Bench } from '../bench.ts';
import { patience, secondsSince } from '../../cluster/load.ts';
import { expect } from '../../cluster/expectation.ts';
import { whileQuiet } from '../../cluster/quiet.ts';
import { controllers, drivers } from '../processes.ts';
import { Workspace } from '../workspace.ts';
import { addListeners, expectAddresses } from './listeners.ts';

export async function measureIdle(bench: Bench): Promise<void> {
  const { client, cluster, sizes, record, log } = bench;
  const workspace = bench.left.listeners ?? (await makeListeners(bench));
  await settle(bench, workspace);

  const [leader, ...others] = await controllers(cluster);
  const ours = { controllers: [leader, ...others], leader: [leader], drivers: await drivers(cluster) };
  const start = performance.now();
  const until = async (share: number): Promise<void> => {
    await sleep(Math.max(0, share * sizes.idleSeconds * 1_000 - (performance.now() - start)));
    log(`idle for ${Math.round(secondsSince(start))} s of ${sizes.idleSeconds} s`);
  };
  const { calls, cpu, seconds } = await whileQuiet(bench, 'idle', ours, async () => {
    // Earshot reconciles everything again in two cases, and never by the clock: when a watch ends, and when a class changes.
    await until(0.2);
    await cluster.cutWatches();
    await until(0.6);
    await client.patch(listenerClasses, { name: workspace.name }, { metadata: { labels: { bench: 'resync' } } }, { type: 'merge' });
    await until(1);
  });
  record('idle-writes', calls.writes);
  record('idle-lists', calls.lists);
  record('idle-cpu', cpu.controllers);
  record('idle-cpu-leader', cpu.leader);
  record('idle-cpu-driver', cpu.drivers);
  record('idle-lease', (60 * calls.leases) / seconds);
}

async function makeListeners(bench: Bench): Promise<Workspace> {
  const workspace = await Workspace.open(bench, 'idle');
  await bench.client.create(listenerClasses, listenerClass(workspace.name, { serviceType: 'ClusterIP' }));
  await addListeners(bench, workspace, 0, bench.sizes.listeners);
  return workspace;
}

/** Listeners, their Services and everybody's reaction to them: Kubernetes makes EndpointSlices at 20 a second. */
async function settle(bench: Bench, workspace: Workspace): Promise<void> {
  const { listeners: count } = bench.sizes;
  await using addressed = await expectAddresses(bench, workspace, count);
  await using sliced = await expect(bench, endpointSlices, {
    namespace: workspace.name,
    what: 'EndpointSlices',
    count,
    isThere: () => true,
    timeoutMs: patience(count),
  });
  const calls = await CallCounter.start(bench.cluster);
  await addressed.reached;
  bench.log(`${count} Listeners have their addresses; waiting for Kubernetes to make their EndpointSlices`);
  await sliced.reached;
  await calls.quiet();
  await untilEventsAreCounted();
}

/** The same event again is counted for ten seconds before the count is written. */
async function untilEventsAreCounted(): Promise<void> {
  await sleep(11_000);
}
