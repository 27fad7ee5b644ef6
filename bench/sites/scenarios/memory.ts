/** Sites by the hundred, and what the controller holds of them. */
import { freemem } from 'node:os';
import { label } from '../../../src/api/skupper/cluster-names.ts';
import { CallCounter } from '../../cluster/audit.ts';
import { memory } from '../../cluster/containers.ts';
import { forEach, names, patience } from '../../cluster/load.ts';
import { cpuSince } from '../../cluster/processes.ts';
import type { Bench } from '../bench.ts';
import { closeAll, create, expectCondition, openPlace } from '../places.ts';
import { controllers } from '../processes.ts';
import { expectServices } from './many.ts';

const LISTENERS = 10;
/** Megabytes: what a router's pod needs at most. */
const POD = 130;
/** Milliseconds: what a pod takes at most until it runs, where hundreds start on two cores. */
const START = 10_000;

export async function measureMemory(bench: Bench): Promise<void> {
  const { cluster, sizes, record, log } = bench;
  await closeAll(bench);
  delete bench.left.many;
  const room = Math.floor(freemem() / 1e6 / POD);
  if (room < sizes.sites) throw new Error(`${sizes.sites} router pods do not fit into this machine's memory; try --sites ${room}`);
  await restartControllers(bench);
  await grow(bench, [await openPlace(bench, 'memory-0')]);
  record('memory-one', await memory((await controllers(bench))[0]));
  const places: string[] = [];
  await forEach(names('memory', 1, sizes.sites), async (name) => places.push(await openPlace(bench, name)));
  await grow(bench, places);
  const megabytes = await memory((await controllers(bench))[0]);
  record('memory-all', megabytes);
  log(`at ${sizes.sites} sites with ${LISTENERS} Listeners each the leading controller holds ${megabytes.toFixed(0)} MB`);
  await (await CallCounter.start(cluster)).quiet();
  await closeAll(bench);
}

async function grow(bench: Bench, places: readonly string[]): Promise<void> {
  await openSites(bench, places);
  const there = await Promise.all(places.map((place) => expectServices(bench, place, LISTENERS)));
  const listeners = places.flatMap((place) => names('web', 0, LISTENERS).map((name) => [place, name] as const));
  await forEach(listeners, ([place, name]) => create(bench, place, 'Listener', name, { host: name, port: 80, routingKey: name }));
  await Promise.all(there.map(({ reached }) => reached));
  for (const each of there) await each[Symbol.asyncDispose]();
  await (await CallCounter.start(bench.cluster)).quiet({ withoutEvents: true });
}

async function openSites(bench: Bench, places: readonly string[]): Promise<void> {
  const { cluster, record, log } = bench;
  const timeoutMs = patience(1) + START * places.length;
  const ready = await Promise.all(places.map((place) => expectCondition(bench, place, 'Site', 1, { timeoutMs })));
  const spent = cpuSince({ controllers: await controllers(bench) });
  const calls = await CallCounter.start(cluster);
  const start = performance.now();
  await forEach(places, (place) => create(bench, place, 'Site', 'here', { linkAccess: 'local' }));
  const seconds = (Math.max(...(await Promise.all(ready.map(({ reached }) => reached)))) - start) / 1_000;
  for (const each of ready) await each[Symbol.asyncDispose]();
  await calls.quiet({ withoutEvents: true });
  const [controller, router] = [calls.of('site-controller'), calls.of('router')];
  const each = (count: number): number => count / places.length;
  log(`${places.length} Sites are Ready after ${seconds.toFixed(1)} s; ${controller.writes} and ${router.writes} writes`);
  for (const kind of calls.kinds) log(`    ${kind}`);
  if (places.length === 1) return;
  record('sites-seconds', seconds);
  record('sites-controller-writes', each(controller.writes));
  record('sites-controller-reads', each(controller.reads));
  record('sites-router-writes', each(router.writes));
  record('sites-router-reads', each(router.reads));
  record('sites-controller-cpu', spent().controllers);
}

/** So that they are fresh: what was in the cluster before is not in their memory. */
async function restartControllers({ cluster }: Bench): Promise<void> {
  const selector = `${label.component}=controller`;
  const found = await cluster.kubectl([
    'get',
    'deployments',
    '--all-namespaces',
    '-l',
    selector,
    '-o',
    'jsonpath={.items[0].metadata.namespace}',
  ]);
  await cluster.kubectl(['--namespace', found, 'rollout', 'restart', 'deployment', '-l', selector]);
  await cluster.kubectl(['--namespace', found, 'rollout', 'status', 'deployment', '-l', selector, '--timeout=120s'], {
    timeoutMs: 130_000,
  });
}
