/** What controllers and routers do while there is nothing to do. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallCounter } from '../../cluster/audit.ts';
import { secondsSince } from '../../cluster/load.ts';
import type { Bench } from '../bench.ts';
import { closePlaces } from '../places.ts';
import { controllers, cpuOf, routers } from '../processes.ts';
import { apply } from './many.ts';

export async function measureIdle(bench: Bench): Promise<void> {
  const { cluster, sizes, record, log } = bench;
  const { west, east } = bench.left.many ?? (await apply({ ...bench, record: () => {} }, sizes.sizes[0], 1));
  const ours = { controllers: await controllers(bench), routers: [...(await routers(bench, west)), ...(await routers(bench, east))] };
  await (await CallCounter.start(cluster)).quiet();
  // Kubernetes makes EndpointSlices at 20 a second; whatever follows from them is over then, too.
  await sleep(30_000);
  const calls = await CallCounter.start(cluster);
  const before = { controllers: cpuOf(ours.controllers), routers: cpuOf(ours.routers) };
  const start = performance.now();
  await sleep(sizes.idleSeconds * 1_000);
  const seconds = secondsSince(start);
  const share = (now: number, then: number): number => (100 * (now - then)) / seconds;
  const cpu = { controllers: share(cpuOf(ours.controllers), before.controllers), routers: share(cpuOf(ours.routers), before.routers) };
  await calls.settle();
  const { writes, lists, reads, watches, leases } = calls.own;
  for (const call of calls.first) log(`idle, and yet: ${call}`);
  record('idle-writes', writes);
  record('idle-lists', lists);
  record('idle-cpu', cpu.controllers);
  record('idle-router-cpu', cpu.routers);
  record('idle-leases', (60 * leases) / seconds);
  log(
    `idle: ${writes} writes, ${reads} reads (${lists} of them lists), ${watches} watches resumed, ${leases} calls for Leases; ` +
      `controllers ${cpu.controllers.toFixed(2)} %, routers ${cpu.routers.toFixed(2)} % of a core`,
  );
  delete bench.left.many;
  await closePlaces(bench, [west, east]);
}
