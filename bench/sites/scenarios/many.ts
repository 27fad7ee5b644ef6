/** Hundreds of Listeners and as many Connectors at once, in two sites with a link between. */
import { label } from '../../../src/api/skupper/cluster-names.ts';
import { services } from '../../../src/kube/resource.ts';
import { CallCounter } from '../../cluster/audit.ts';
import { memory } from '../../cluster/containers.ts';
import { expect } from '../../cluster/expectation.ts';
import { forEach, names, patience } from '../../cluster/load.ts';
import { cpuSince } from '../../cluster/processes.ts';
import type { Bench } from '../bench.ts';
import { closePlaces, create, expectCondition, openPair, type Pair } from '../places.ts';
import { controllers, kubernetes, routers } from '../processes.ts';

/** TEST-NET-1 of RFC 5737: whether servers answer is not part of it. */
const HOST = '192.0.2.1';

export async function measureMany(bench: Bench): Promise<void> {
  const { sizes, left } = bench;
  const [size] = sizes.sizes;
  for (let round = 1; round <= sizes.rounds; round++) {
    const pair = await apply(bench, size, round);
    if (round < sizes.rounds) await closePlaces(bench, [pair.west, pair.east]);
    else left.many = pair;
  }
}

/** The other sizes, once each. */
export async function measureMore(bench: Bench): Promise<void> {
  const [, ...others] = bench.sizes.sizes;
  for (const size of others) {
    const { west, east } = await apply(bench, size, 1);
    await closePlaces(bench, [west, east]);
  }
}

export async function apply(bench: Bench, size: number, round: number): Promise<Pair> {
  const { cluster, record, log } = bench;
  const pair = await openPair(bench, `many-${round}`);
  const { west, east } = pair;
  const [leader, ...waiting] = await controllers(bench);
  const ours = { controller: [leader, ...waiting], router: [...(await routers(bench, west)), ...(await routers(bench, east))] };
  await using there = await expectServices(bench, west, size);
  await using configuredWest = await expectCondition(bench, west, 'Listener', size, { type: 'Configured' });
  await using configuredEast = await expectCondition(bench, east, 'Connector', size, { type: 'Configured' });
  await using readyWest = await expectCondition(bench, west, 'Listener', size);
  await using readyEast = await expectCondition(bench, east, 'Connector', size);
  const all = { ...ours, kubernetes: kubernetes(bench), bench: [{ pid: process.pid }] };
  const spent = cpuSince(all);
  const calls = await CallCounter.start(cluster);
  const start = performance.now();
  const since = async (moments: readonly { readonly reached: Promise<number> }[]): Promise<number> =>
    (Math.max(...(await Promise.all(moments.map(({ reached }) => reached)))) - start) / 1_000;
  const applied = addAll(bench, pair, size);
  const configured = await since([configuredWest, configuredEast]);
  await calls.settle();
  const then = calls.own;
  await applied;
  const seconds = { services: await since([there]), configured, ready: await since([readyWest, readyEast]) };
  await calls.quiet();
  const each = (count: number): number => count / (2 * size);
  for (const [what, value] of Object.entries(seconds)) record(`${what}-${size}`, value);
  record(`configured-writes-${size}`, each(then.writes));
  record(`configured-reads-${size}`, each(then.reads));
  record(`controller-writes-${size}`, each(calls.of('site-controller').writes));
  record(`router-writes-${size}`, each(calls.of('router').writes));
  record(`events-${size}`, each(calls.own.events));
  record(`reads-${size}`, each(calls.own.reads));
  const cpu = spent();
  record(`controller-cpu-${size}`, cpu.controller);
  record(`router-cpu-${size}`, cpu.router);
  record(`kubernetes-cpu-${size}`, cpu.kubernetes);
  record(`bench-cpu-${size}`, cpu.bench);
  record(`controller-memory-${size}`, await memory(leader));
  record(`router-memory-${size}`, Math.max(...(await Promise.all(ours.router.map(memory)))));
  const times = Object.entries(seconds).map(([what, value]) => `${what} ${value.toFixed(2)} s`);
  log(`round ${round}: ${size} + ${size}: ${times.join(', ')}; ${then.writes} writes and ${then.reads} reads until all are Configured`);
  log(
    `    CPU: ${Object.entries(cpu)
      .map(([who, spent_]) => `${who} ${spent_.toFixed(1)} s`)
      .join(', ')}`,
  );
  for (const kind of calls.kinds) log(`    ${kind}`);
  return pair;
}

/** Both kinds side by side, as one `kectl apply` of all would mix them. */
export async function addAll(bench: Bench, { west, east }: Pick<Pair, 'west' | 'east'>, size: number): Promise<void> {
  await forEach(names('key', 0, size), async (name) => {
    await create(bench, west, 'Listener', name, { host: name, port: 80, routingKey: name });
    await create(bench, east, 'Connector', name, { host: HOST, port: 80, routingKey: name, settings: { probe: 'none' } });
  });
}

export function expectServices(bench: Bench, namespace: string, count: number): ReturnType<typeof expect> {
  return expect(bench, services, {
    namespace,
    what: 'Services of Listeners',
    count,
    isThere: ({ metadata }) => metadata.labels?.[label.listener] !== undefined,
    timeoutMs: patience(count),
  });
}
