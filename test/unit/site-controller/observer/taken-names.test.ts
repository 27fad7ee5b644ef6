/** NetworkObservers whose names others have already. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { certificates, listeners } from '../../../../src/api/skupper/index.ts';
import type { Secret, Service } from '../../../../src/kube/objects.ts';
import { deployments, roleBindings, roles, secrets, serviceAccounts, services, type Resource } from '../../../../src/kube/resource.ts';
import { openNamespace } from './support/observed-namespace.ts';

suite('a NetworkObserver whose console has the name of a foreign object', () => {
  for (const resource of [serviceAccounts, roles, roleBindings] as readonly Resource[]) {
    test(`gets no console beside a foreign ${resource.kind}, and says so`, async () => {
      await using cluster = await openNamespace();
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

  test('reports a foreign Deployment, whose labels are not watched, until it is gone', async () => {
    await using cluster = await openNamespace();
    cluster.putSite();
    cluster.observe('network-observer');
    const foreign = cluster.api.put(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'west', name: 'network-observer' },
    });
    assert.equal(await cluster.pass(), 60_000);
    assert.equal(cluster.deployed()?.reason, 'ObjectForeign');
    assert.match(
      cluster.deployed()?.message ?? '',
      /^Deployment network-observer exists, and another owner created it; rename one of the two\./,
    );
    assert.deepEqual(cluster.find(deployments, 'network-observer'), foreign);
    cluster.api.remove(deployments, 'west/network-observer');
    await cluster.pass();
    assert.notEqual(cluster.deployed()?.reason, 'ObjectForeign');
    assert.equal(cluster.find(deployments, 'network-observer')?.metadata.ownerReferences?.[0]?.kind, 'NetworkObserver');
  });

  test('leaves the Service of a Listener alone', async () => {
    await using cluster = await openNamespace();
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
  await using cluster = await openNamespace();
  cluster.putSite();
  cluster.observe('a', { tls: { skupperIssued: false }, auth: { basic: { secretName: 'unused' } } }, '2026-01-02T00:00:00Z');
  cluster.observe('a-network-observer');
  for (let pass = 0; pass < 3; pass += 1) await cluster.pass();
  const before = cluster.api.writes.length;
  for (let pass = 0; pass < 3; pass += 1) await cluster.pass();
  assert.deepEqual(cluster.api.writes.slice(before), []);
  assert.ok(cluster.find(certificates, 'a-network-observer-tls'));
  assert.ok(cluster.find(secrets, 'a-network-observer-auth'));
  assert.equal(cluster.find(secrets, 'unused'), undefined);
  assert.equal(cluster.deployed('a-network-observer')?.reason, 'Processing');
  assert.equal(cluster.deployed('a')?.reason, 'NameTaken');
  assert.match(cluster.deployed('a')?.message ?? '', /NetworkObserver\/a-network-observer has the console a-network-observer/);
});

test('a NetworkObserver without a Site cannot take the Secrets that routers get from a later Site', async () => {
  await using cluster = await openNamespace();
  cluster.observe('x', { auth: { basic: { secretName: 'skupper-local-server' } } });
  await cluster.pass();
  assert.equal(cluster.deployed('x')?.reason, 'BadArgument');
  cluster.putSite();
  for (let pass = 0; pass < 3; pass += 1) await cluster.pass();
  assert.equal(cluster.find<Secret>(secrets, 'skupper-local-server')?.type, 'kubernetes.io/tls');
});
