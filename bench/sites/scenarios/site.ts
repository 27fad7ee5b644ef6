/** A Site until it is Ready, and what its router's pod holds then. */
import { CallCounter } from '../../cluster/audit.ts';
import { memory } from '../../cluster/containers.ts';
import type { Bench } from '../bench.ts';
import { closePlaces, openPlace, openSite } from '../places.ts';
import { routers } from '../processes.ts';

export async function measureSite(bench: Bench): Promise<void> {
  const { sizes, cluster, record, log } = bench;
  const places: string[] = [];
  for (let round = 1; round <= sizes.rounds; round++) {
    const namespace = await openPlace(bench, `site-${round}`);
    places.push(namespace);
    const calls = await CallCounter.start(cluster);
    const seconds = await openSite(bench, namespace, { linkAccess: 'local' });
    await calls.settle();
    record('site-ready', seconds);
    record('site-writes', calls.own.writes);
    const [router] = await routers(bench, namespace);
    if (router === undefined) throw new Error(`the Site of ${namespace} is Ready without a router's pod`);
    const megabytes = await memory(router);
    record('router-memory', megabytes);
    log(
      `round ${round}: a Site is Ready after ${seconds.toFixed(2)} s; ${calls.own.writes} writes; its router holds ${megabytes.toFixed(0)} MB`,
    );
    for (const kind of calls.kinds) log(`    ${kind}`);
  }
  await closePlaces(bench, places);
}
