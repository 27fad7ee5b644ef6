/** Another namespace is served round-robin while hundreds of Listeners of one namespace wait. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../src/kube/objects.ts';
import { eventually } from '../harness/index.ts';
import { useNamespace } from './support/namespace.ts';

const CROWD = 500;
/** Listeners written at the same time, so that this client does not keep the API server busy. */
const AT_ONCE = 25;
const PROBES = 5;
const PORTS = [{ name: 'http', port: 8080 }];

const crowded = useNamespace('crowded');
const other = useNamespace('beside', { internal: { serviceType: 'ClusterIP' } });

test('a Listener gets its Service before most of another namespace that were written earlier', async (t) => {
  const internal = other.className('internal');
  /** @returns milliseconds from the Listener to its Service */
  const probe = async (name: string): Promise<number> => {
    const began = performance.now();
    await other.listener(name, { className: internal, ports: PORTS });
    await eventually('its Service', () => other.get<Service>('v1', 'Service', name), { everyMs: 10 });
    return performance.now() - began;
  };
  const median = (all: readonly number[]): number => all.toSorted((one, two) => one - two)[Math.floor(all.length / 2)] ?? Number.NaN;
  const probes = async (prefix: string): Promise<number> => {
    const took: number[] = [];
    for (let index = 0; index < PROBES; index += 1) took.push(await probe(`${prefix}-${index}`));
    return median(took);
  };
  const idle = await probes('idle');
  const className = crowded.className('late');
  const names = Array.from({ length: CROWD }, (_, index) => `crowd-${index}`);
  for (let from = 0; from < CROWD; from += AT_ONCE)
    await Promise.all(names.slice(from, from + AT_ONCE).map((name) => crowded.listener(name, { className, ports: PORTS })));
  const created = async (): Promise<number> => {
    const { items } = await crowded.cluster.api.get<{ readonly items: readonly Service[] }>(`/api/v1/namespaces/${crowded.name}/services`);
    return items.length;
  };
  assert.equal(await created(), 0);
  await crowded.class('late', { serviceType: 'ClusterIP' });
  const first = await probe('first');
  const before = await created();
  const busy = await probes('busy');
  t.diagnostic(`idle ${idle.toFixed(0)} ms, first ${first.toFixed(0)} ms after ${before} of ${CROWD}, then ${busy.toFixed(0)} ms`);
  assert.ok(before < CROWD / 2, `${before} of ${CROWD} Services of the other namespace came first`);
  await eventually('the other Services', async () => (await created()) === CROWD);
});
