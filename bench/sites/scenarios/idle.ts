/** Work of controllers and routers while nothing changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallCounter } from '../../cluster/audit.ts';
import { whileQuiet } from '../../cluster/quiet.ts';
import type { Bench } from '../bench.ts';
import { closePlaces } from '../places.ts';
import { controllers, routers } from '../processes.ts';
import { apply } from './many.ts';

export async function measureIdle(bench: Bench): Promise<void> {
  const { cluster, sizes, record } = bench;
  const { west, east } = bench.left.many ?? (await apply({ ...bench, record: () => {} }, sizes.sizes[0], 1));
  const ours = { controllers: await controllers(bench), routers: [...(await routers(bench, west)), ...(await routers(bench, east))] };
  await (await CallCounter.start(cluster)).quiet();
  // Kubernetes makes EndpointSlices at 20 a second; whatever follows from them is over then, too.
  await sleep(30_000);
  const { calls, cpu, seconds } = await whileQuiet(bench, 'idle', ours, () => sleep(sizes.idleSeconds * 1_000));
  record('idle-writes', calls.writes);
  record('idle-lists', calls.lists);
  record('idle-cpu', cpu.controllers);
  record('idle-router-cpu', cpu.routers);
  record('idle-leases', (60 * calls.leases) / seconds);
  delete bench.left.many;
  await closePlaces(bench, [west, east]);
}
