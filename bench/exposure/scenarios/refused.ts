/** Cost of Listeners that Earshot may not expose, while nothing changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { listenerClasses, listeners, type Listener } from '../../../src/api/listeners/index.ts';
import { services } from '../../../src/kube/resource.ts';
import type { Service } from '../../../src/kube/objects.ts';
import { listenerClass } from '../../../test/e2e/support/manifests.ts';
import { CallCounter } from '../../cluster/audit.ts';
import type { Bench } from '../bench.ts';
import { expect } from '../../cluster/expectation.ts';
import { whileQuiet } from '../../cluster/quiet.ts';
import { refusedSeconds } from '../figures.ts';
import { forEach, names, patience } from '../../cluster/load.ts';
import { controllers } from '../processes.ts';
import { Workspace } from '../workspace.ts';
import { addListeners } from './listeners.ts';

/** Another owner's Service has the name of each: it is left alone, and may be deleted at any time. */
export async function measureRefused(bench: Bench): Promise<void> {
  const { client, cluster, sizes, record, log } = bench;
  const workspace = await Workspace.open(bench, 'refused');
  const namespace = workspace.name;
  await forEach(names('web', 0, sizes.listeners), (name) => {
    const service: Service = { metadata: { namespace, name }, spec: { type: 'ClusterIP', ports: [{ name: 'http', port: 80 }] } };
    return client.create(services, service);
  });
  await client.create(listenerClasses, listenerClass(namespace, { serviceType: 'ClusterIP' }));
  await using refused = await expect<Listener>(bench, listeners, {
    namespace,
    what: 'Listeners that say why they are refused',
    count: sizes.listeners,
    isThere: ({ status }) => (status?.conditions ?? []).some(({ reason }) => reason === 'ServiceNotOwned'),
    timeoutMs: patience(sizes.listeners),
  });
  const before = await CallCounter.start(cluster);
  await addListeners(bench, workspace, 0, sizes.listeners);
  await refused.reached;
  await sleep(SETTLED + sizes.listeners * EVENT);
  await before.settle();
  log(`${sizes.listeners} Listeners are refused; Earshot has written ${before.own.writes} times for that`);

  const [leader] = await controllers(cluster);
  const { calls, cpu } = await whileQuiet(bench, 'refused', { leader: [leader] }, () => sleep(1_000 * refusedSeconds(sizes.idleSeconds)));
  record('refused-writes', calls.writes);
  record('refused-lists', calls.lists);
  record('refused-reads', calls.reads);
  record('refused-cpu', cpu.leader);
  await workspace.close();
}

/** Events of what came together are counted for ten seconds, and written then. In milliseconds. */
const SETTLED = 20_000;
/** Twenty are written a second (src/kube/events/events.ts). */
const EVENT = 50;
