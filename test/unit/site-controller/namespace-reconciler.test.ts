import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routerAccesses, sites, listeners } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { NamespaceReconciler, type NamespaceReconcilerOptions } from '../../../src/site-controller/namespace-reconciler.ts';
import { ApiError } from '../../../src/kube/errors.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { playedCluster, type PlayedCluster } from './support/played-cluster.ts';
import { settings } from './support/view.ts';

const LISTENER = { apiVersion: API_VERSION, kind: 'Listener' } as const;

function optionsWith(client: PlayedCluster['api'], caches: PlayedCluster['caches']): NamespaceReconcilerOptions {
  return {
    client,
    caches,
    settings: { ...settings, grants: { ...settings.grants, enabled: false } },
    events: { record: () => {}, [Symbol.asyncDispose]: async () => {} },
    log: createLogger({ level: 'silent', component: 'test' }),
    now: () => '2026-01-31T00:00:00Z',
    wake: () => {},
  };
}

test('statuses do not wait for each other', async () => {
  using cluster = await playedCluster();
  const { api, caches } = cluster;
  for (const name of ['a', 'b', 'c']) {
    api.put(listeners, { ...LISTENER, metadata: { namespace: 'west', name }, spec: { host: name, port: 80, routingKey: name } });
  }
  await using keeper = new NamespaceReconciler(optionsWith(api, caches));
  const { promise: together, resolve } = Promise.withResolvers<void>();
  const underWay: string[] = [];
  // None is answered before all are asked for.
  api.meets = ({ verb, plural }) => {
    if (verb !== 'patch-status') return undefined;
    underWay.push(plural);
    if (underWay.length === 3) resolve();
    return together;
  };
  await keeper.pass('west', cluster.signal);
  assert.deepEqual(underWay, ['listeners', 'listeners', 'listeners']);
});

test('a namespace being deleted is left alone: after the first refusal nothing is requested, reported or retried', async () => {
  using cluster = await playedCluster();
  const { api, caches } = cluster;
  api.put(sites, { apiVersion: API_VERSION, kind: 'Site', metadata: { namespace: 'west', name: 'west', uid: 'u' }, spec: {} });
  for (let index = 0; index < 100; index++) {
    const name = `web-${index}`;
    api.put(listeners, { ...LISTENER, metadata: { namespace: 'west', name, uid: name }, spec: { host: name, port: 80, routingKey: name } });
  }
  const options = optionsWith(api, caches);
  const told: string[] = [];
  const events = { ...options.events, record: ({ note }: { note: string }) => void told.push(note) };
  await using keeper = new NamespaceReconciler({ ...options, events });
  const refused: string[] = [];
  api.meets = ({ verb, plural }) => {
    if (verb !== 'create' && verb !== 'apply') return undefined;
    refused.push(plural);
    throw new ApiError(`${verb} ${plural}`, { status: 403, reason: 'Forbidden', message: 'no', causes: ['NamespaceTerminating'] });
  };
  await keeper.pass('west', cluster.signal);
  assert.ok(refused.length > 0);
  // Those that were under way together, and those of the site's certificates.
  assert.ok(refused.length < 50, `${refused.length} were refused`);
  assert.deepEqual(told, []);
});

test('a RouterAccess whose Secret is applied a moment later is Pending and not Error, and Error if the Secret stays away', async () => {
  using cluster = await playedCluster();
  const { api, caches } = cluster;
  const clock = { now: Date.now() };
  await using keeper = new NamespaceReconciler({ ...optionsWith(api, caches), clock: () => clock.now });
  const metadata = (name: string) => ({ namespace: 'west', name, uid: name, generation: 1 });
  const spec = { roles: [{ name: 'inter-router', port: 55671 }], tlsCredentials: 'later' };
  api.put(sites, { apiVersion: API_VERSION, kind: 'Site', metadata: metadata('west'), spec: {} });
  api.put(routerAccesses, { apiVersion: API_VERSION, kind: 'RouterAccess', metadata: metadata('access'), spec });
  const status = async (): Promise<readonly [string | undefined, string | undefined]> => {
    await keeper.pass('west', cluster.signal);
    const { status: found } = (await api.find(routerAccesses, { namespace: 'west', name: 'access' })) ?? {};
    return [found?.status, found?.message];
  };
  const [first, message] = await status();
  assert.equal(first, 'Pending');
  assert.match(message ?? '', /Secret|secret "later" not found/);
  const again = await keeper.pass('west', cluster.signal);
  assert.ok(again !== undefined && again <= 3_000, `${again} ms until the next pass`);
  clock.now += 3_000;
  assert.equal((await status())[0], 'Error');
  await using next = new NamespaceReconciler({ ...optionsWith(api, caches), clock: () => clock.now });
  await next.pass('west', cluster.signal);
  assert.equal((await status())[0], 'Error', 'another controller knows it from the status');
});
