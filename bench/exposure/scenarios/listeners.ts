/** Listeners created at once, and a change of their class, side by side with what the API server itself can do. */
import { listenerClasses, listeners, type Listener } from '../../../src/api/listeners/index.ts';
import { services } from '../../../src/kube/resource.ts';
import type { Service } from '../../../src/kube/objects.ts';
import { listener, listenerClass } from '../../../test/e2e/support/manifests.ts';
import { CallCounter } from '../../cluster/audit.ts';
import type { Bench } from '../bench.ts';
import { AT_ONCE, forEach, names, patience, secondsSince } from '../../cluster/load.ts';
import { expect } from '../../cluster/expectation.ts';
import { Workspace } from '../workspace.ts';

const PORTS = [{ name: 'http', port: 80 }];

export async function measureListeners(bench: Bench): Promise<void> {
  await warmUp(bench);
  for (let round = 1; round <= bench.sizes.rounds; round++) {
    const baseline = await createAndPatchServices(bench, round);
    bench.log(`round ${round}: ${bench.sizes.listeners} Services created and patched in ${baseline.toFixed(2)} s`);
    const workspace = await Workspace.open(bench, `listeners-${round}`);
    await createListeners(bench, workspace, round, baseline);
    await changeClass(bench, workspace, round);
    if (round < bench.sizes.rounds) await workspace.close();
    else bench.left.listeners = workspace;
  }
}

/** Connections, and what programs do only once: without it, the first round's baseline would bear them all. */
async function warmUp(bench: Bench): Promise<void> {
  const count = 2 * AT_ONCE;
  const workspace = await Workspace.open(bench, 'warm-up');
  await createServices(bench, workspace, 'first', count);
  await bench.client.create(listenerClasses, listenerClass(workspace.name, { serviceType: 'ClusterIP' }));
  await using addressed = await expectAddresses(bench, workspace, count);
  await addListeners(bench, workspace, 0, count);
  await addressed.reached;
  await workspace.close();
}

async function createAndPatchServices(bench: Bench, round: number): Promise<number> {
  const workspace = await Workspace.open(bench, `services-${round}`);
  const start = performance.now();
  await createServices(bench, workspace, 'web', bench.sizes.listeners);
  const seconds = secondsSince(start);
  bench.record('services-seconds', seconds);
  await workspace.close();
  return seconds;
}

async function createServices({ client }: Bench, { name: namespace }: Workspace, prefix: string, count: number): Promise<void> {
  await forEach(names(prefix, 0, count), async (name) => {
    const service: Service = { metadata: { namespace, name }, spec: { type: 'ClusterIP', selector: { app: name }, ports: PORTS } };
    await client.create(services, service);
    await client.patch(services, { namespace, name }, { metadata: { labels: { patched: 'true' } } }, { type: 'merge' });
  });
}

async function createListeners(bench: Bench, workspace: Workspace, round: number, baseline: number): Promise<void> {
  const { client, cluster, sizes, record, log } = bench;
  const className = workspace.name;
  await client.create(listenerClasses, listenerClass(className, { serviceType: 'ClusterIP' }));
  await using addressed = await expectAddresses(bench, workspace, sizes.listeners);
  const calls = await CallCounter.start(cluster);
  const start = performance.now();
  await addListeners(bench, workspace, 0, sizes.listeners);
  const seconds = ((await addressed.reached) - start) / 1_000;
  await calls.quiet();
  const { writes, events, reads } = calls.own;
  record('ready-seconds', seconds);
  record('ready-ratio', seconds / baseline);
  record('ready-writes', writes / sizes.listeners);
  record('ready-events', events / sizes.listeners);
  record('ready-reads', reads / sizes.listeners);
  log(
    `round ${round}: ${sizes.listeners} Listeners have their addresses after ${seconds.toFixed(2)} s; ` +
      `${writes} writes (${events} of them events), ${reads} reads`,
  );
}

async function changeClass(bench: Bench, workspace: Workspace, round: number): Promise<void> {
  const { client, cluster, sizes, record, log } = bench;
  const value = `changed-${round}`;
  await using changed = await expect<Service>(bench, services, {
    namespace: workspace.name,
    what: 'Services with the new annotation',
    count: sizes.listeners,
    isThere: ({ metadata }) => metadata.annotations?.['bench'] === value,
    timeoutMs: patience(sizes.listeners),
  });
  const calls = await CallCounter.start(cluster);
  const start = performance.now();
  await client.patch(listenerClasses, { name: workspace.name }, { spec: { serviceAnnotations: { bench: value } } }, { type: 'merge' });
  const seconds = ((await changed.reached) - start) / 1_000;
  await calls.quiet();
  const { writes, events, reads } = calls.own;
  record('class-seconds', seconds);
  record('class-writes', writes / sizes.listeners);
  record('class-events', events / sizes.listeners);
  record('class-reads', reads / sizes.listeners);
  log(
    `round ${round}: the last Service has the class's new annotation after ${seconds.toFixed(2)} s; ` +
      `${writes} writes (${events} of them events), ${reads} reads`,
  );
}

/** Listeners `web-FROM` to `web-(TO - 1)` of the class that is called like the workspace. */
export async function addListeners({ client }: Bench, workspace: Workspace, from: number, to: number): Promise<void> {
  await forEach(names('web', from, to), (name) =>
    client.create(listeners, listener(name, { className: workspace.name, ports: PORTS }, { namespace: workspace.name })),
  );
}

export function expectAddresses(bench: Bench, workspace: Workspace, count: number): ReturnType<typeof expect> {
  return expect<Listener>(bench, listeners, {
    namespace: workspace.name,
    what: 'Listeners with an address',
    count,
    isThere: ({ status }) => (status?.ingressAddresses ?? []).length > 0,
    timeoutMs: patience(count),
  });
}
