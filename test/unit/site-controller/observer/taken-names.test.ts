/** NetworkObservers whose names others have already. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { certificates, listeners, sites } from '../../../../src/api/skupper/index.ts';
import { networkObservers, type NetworkObserver } from '../../../../src/api/skupper/network-observer.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import type { KubeObject, Secret, Service } from '../../../../src/kube/objects.ts';
import { deployments, roleBindings, roles, secrets, serviceAccounts, services, type Resource } from '../../../../src/kube/resource.ts';
import { nameOf, SiteCaches } from '../../../../src/site-controller/caches.ts';
import { NamespaceReconciler } from '../../../../src/site-controller/namespace-reconciler.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { PlayedApi } from '../../exposure/support/played-api.ts';
import { settings } from '../support/view.ts';

async function open() {
  const api = new PlayedApi();
  const stop = new AbortController();
  const caches = new SiteCaches({ start: startInformer, client: api, served: new Set([nameOf(networkObservers)]), signal: stop.signal });
  await caches.synced;
  const reconciler = new NamespaceReconciler({
    client: api,
    caches,
    settings: { ...settings, grants: { ...settings.grants, enabled: false } },
    events: { record: () => {}, [Symbol.asyncDispose]: async () => {} },
    log: createLogger({ level: 'silent', component: 'test' }),
    now: () => '2026-01-31T00:00:00Z',
    wake: () => {},
  });
  const site = { namespace: 'west', name: 'west', uid: 'site', generation: 1 };
  const putSite = () => api.put(sites, { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: site, spec: {} });
  const observe = (name: string, spec: NetworkObserver['spec'] = {}, creationTimestamp = '2026-01-01T00:00:00Z') =>
    api.put(networkObservers, {
      apiVersion: 'observability.skupper.io/v2alpha1',
      kind: 'NetworkObserver',
      metadata: { namespace: 'west', name, uid: `uid-of-${name}`, generation: 1, creationTimestamp },
      spec,
    });
  const find = <T extends KubeObject>(of: Resource<T>, name: string): T | undefined => api.read(of, `west/${name}`);
  return {
    api,
    find,
    putSite,
    observe,
    pass: () => reconciler.pass('west', stop.signal),
    deployed: (name: string) => find<NetworkObserver>(networkObservers, name)?.status?.conditions.find(({ type }) => type === 'Deployed'),
    async [Symbol.asyncDispose]() {
      await reconciler[Symbol.asyncDispose]();
      stop.abort();
    },
  };
}

suite('a NetworkObserver whose console has the name of a foreign object', () => {
  for (const resource of [serviceAccounts, roles, roleBindings] as readonly Resource[]) {
    test(`gets no console beside a foreign ${resource.kind}, and says so`, async () => {
      await using cluster = await open();
      cluster.putSite();
      cluster.observe('network-observer');
      const foreign = cluster.api.put(resource, {
        apiVersion: 'v1',
        kind: resource.kind,
        metadata: { namespace: 'west', name: 'network-observer' },
      });
      await cluster.pass();
      assert.equal(cluster.deployed('network-observer')?.reason, 'NameTaken');
      assert.match(cluster.deployed('network-observer')?.message ?? '', new RegExp(`^${resource.kind} network-observer already exists`));
      assert.deepEqual(cluster.find(resource, 'network-observer'), foreign);
      // Its pod would have the rights of the foreign account or Role.
      assert.equal(cluster.find(deployments, 'network-observer'), undefined);
    });
  }

  test('leaves the Service of a Listener alone', async () => {
    await using cluster = await open();
    cluster.putSite();
    const metadata = { namespace: 'west', name: 'web', uid: 'web', generation: 1 };
    const spec = { routingKey: 'web', host: 'x-network-observer', port: 80 };
    cluster.api.put(listeners, { apiVersion: 'skupper.io/v2alpha1', kind: 'Listener', metadata, spec });
    await cluster.pass();
    const before = cluster.find<Service>(services, 'x-network-observer')?.spec;
    assert.equal(before?.ports?.[0]?.port, 80);
    cluster.observe('x');
    await cluster.pass();
    assert.deepEqual(cluster.find<Service>(services, 'x-network-observer')?.spec, before);
    assert.equal(cluster.deployed('x')?.reason, 'NameTaken');
  });
});

test('of two NetworkObservers with one console, the older one has it, and the other one is reported', async () => {
  await using cluster = await open();
  cluster.putSite();
  cluster.observe('a', { tls: { skupperIssued: false } }, '2026-01-02T00:00:00Z');
  cluster.observe('a-network-observer');
  for (let pass = 0; pass < 3; pass += 1) await cluster.pass();
  const before = cluster.api.writes.length;
  for (let pass = 0; pass < 3; pass += 1) await cluster.pass();
  assert.deepEqual(cluster.api.writes.slice(before), []);
  assert.ok(cluster.find(certificates, 'a-network-observer-tls'));
  assert.equal(cluster.deployed('a-network-observer')?.reason, 'Processing');
  assert.equal(cluster.deployed('a')?.reason, 'NameTaken');
  assert.match(cluster.deployed('a')?.message ?? '', /NetworkObserver\/a-network-observer has the console a-network-observer/);
});

test('a NetworkObserver without a Site cannot take the Secrets that routers get from a later Site', async () => {
  await using cluster = await open();
  cluster.observe('x', { auth: { basic: { secretName: 'skupper-local-server' } } });
  await cluster.pass();
  assert.equal(cluster.deployed('x')?.reason, 'BadArgument');
  cluster.putSite();
  for (let pass = 0; pass < 3; pass += 1) await cluster.pass();
  assert.equal(cluster.find<Secret>(secrets, 'skupper-local-server')?.type, 'kubernetes.io/tls');
});
