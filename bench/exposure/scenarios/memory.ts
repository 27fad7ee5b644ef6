/** Memory of the controllers for the cluster. */
import { listenerClasses } from '../../../src/api/listeners/index.ts';
import { untilInstalled, withoutControllers } from '../../../test/e2e/support/installation.ts';
import { listenerClass } from '../../../test/e2e/support/manifests.ts';
import { CallCounter } from '../../cluster/audit.ts';
import type { Bench } from '../bench.ts';
import { memory } from '../../cluster/containers.ts';
import { controllers } from '../processes.ts';
import { Workspace } from '../workspace.ts';
import { addListeners, expectAddresses } from './listeners.ts';

/** Each round has fresh processes, which see the Listeners grow in number. The last round's Listeners stay: the cluster ends with them. */
export async function measureMemory(bench: Bench): Promise<void> {
  const { client, cluster, sizes, log } = bench;
  for (let round = 1; round <= sizes.rounds; round++) {
    {
      await using _restart = await withoutControllers(cluster);
      // No controller reconciles the deleted objects, so that deletion is fast.
      await Workspace.clearAll(bench);
    }
    await untilInstalled(cluster);
    const workspace = await Workspace.open(bench, `memory-${round}`);
    await client.create(listenerClasses, listenerClass(workspace.name, { serviceType: 'ClusterIP' }));
    await grow(bench, workspace, 'one', 0, 1);
    await grow(bench, workspace, 'many', 1, sizes.listeners);
    await grow(bench, workspace, 'most', sizes.listeners, 5 * sizes.listeners);
    log(`round ${round} of the memory is done`);
  }
}

async function grow(bench: Bench, workspace: Workspace, size: 'one' | 'many' | 'most', from: number, to: number): Promise<void> {
  const { cluster, record, log } = bench;
  await using addressed = await expectAddresses(bench, workspace, to);
  const calls = await CallCounter.start(cluster);
  await addListeners(bench, workspace, from, to);
  await addressed.reached;
  await calls.quiet({ withoutEvents: true });
  const [leading, ...waiting] = await Promise.all((await controllers(cluster)).map(memory));
  if (leading === undefined) throw new TypeError('the leader was measured');
  record(`memory-${size}`, leading);
  for (const each of waiting) record(`memory-standby-${size}`, each);
  const others = waiting.map((each) => each.toFixed(0)).join(', ');
  log(`at ${to} Listeners the leading controller holds ${leading.toFixed(0)} MB, the waiting one ${others} MB`);
}
