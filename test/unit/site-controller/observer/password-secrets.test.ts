/** A NetworkObserver against an API server in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sites } from '../../../../src/api/skupper/index.ts';
import { networkObservers, type NetworkObserver } from '../../../../src/api/skupper/network-observer.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import { ApiError } from '../../../../src/kube/errors.ts';
import type { Deployment, KubeObject, Secret } from '../../../../src/kube/objects.ts';
import { deployments, secrets, type Resource } from '../../../../src/kube/resource.ts';
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
  const metadata = { namespace: 'west', name: 'west', uid: 'site', generation: 1 };
  api.put(sites, { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata, spec: {} });
  const observer = { ...metadata, name: 'network-observer', uid: 'o1' };
  api.put(networkObservers, { apiVersion: 'observability.skupper.io/v2alpha1', kind: 'NetworkObserver', metadata: observer, spec: {} });
  // The key of an object in memory has its kind and names.
  const find = <T extends KubeObject>({ plural }: Resource<T>, name: string): T | undefined =>
    [...api.objects].find(([id, object]) => id.includes(plural) && object.metadata.name === name)?.[1] as T | undefined;
  return {
    api,
    find,
    pass: () => reconciler.pass('west', stop.signal),
    deployed: () => find<NetworkObserver>(networkObservers, 'network-observer')?.status?.conditions.find(({ type }) => type === 'Deployed'),
    async [Symbol.asyncDispose]() {
      await reconciler[Symbol.asyncDispose]();
      stop.abort();
    },
  };
}

const usersIn = (secret: Secret | undefined): string => Buffer.from(secret?.data?.['htpasswd'] ?? '', 'base64').toString();

test('a NetworkObserver gets a Secret with a user and a random password, which stays', async () => {
  await using cluster = await open();
  await cluster.pass();
  const before = usersIn(cluster.find(secrets, 'network-observer-auth'));
  assert.match(before, /^skupper:\{PLAIN\}[\w-]{24}$/);
  await cluster.pass();
  assert.equal(usersIn(cluster.find(secrets, 'network-observer-auth')), before);
});

test('a Secret with users that exists already is used as it is', async () => {
  await using cluster = await open();
  const data = { htpasswd: Buffer.from('ann:{PLAIN}secret').toString('base64') };
  cluster.api.put(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { namespace: 'west', name: 'network-observer-auth' },
    data,
  });
  await cluster.pass();
  assert.equal(usersIn(cluster.find(secrets, 'network-observer-auth')), 'ann:{PLAIN}secret');
  assert.equal(cluster.deployed()?.reason, 'Processing');
});

test('a Secret of that name without users is reported and not changed', async () => {
  await using cluster = await open();
  const data = { other: 'eA==' };
  cluster.api.put(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { namespace: 'west', name: 'network-observer-auth' },
    data,
  });
  await cluster.pass();
  assert.deepEqual(cluster.find(secrets, 'network-observer-auth')?.data, data);
  assert.equal(cluster.deployed()?.reason, 'ObjectForeign');
  assert.match(cluster.deployed()?.message ?? '', /does not have the key htpasswd/);
});

test('an admission policy that refuses the Deployment is in the condition, with its words', async () => {
  await using cluster = await open();
  cluster.api.meets = ({ verb, plural, object }) => {
    if (verb !== 'create' || plural !== 'deployments' || (object as KubeObject).metadata.name !== 'network-observer') return;
    throw new ApiError('create deployments', {
      status: 403,
      reason: 'Forbidden',
      message: 'ValidatingAdmissionPolicy only-signed denied request',
    });
  };
  await assert.rejects(cluster.pass(), /only-signed/);
  assert.equal(cluster.deployed()?.reason, 'ObjectRefused');
  assert.match(cluster.deployed()?.message ?? '', /Deployment network-observer cannot be written: .*only-signed denied request/);
});

test('a console that answers is Deployed, and its status is then not written again', async () => {
  await using cluster = await open();
  await cluster.pass();
  const deployment = cluster.find<Deployment>(deployments, 'network-observer');
  assert.ok(deployment);
  cluster.api.put(deployments, { ...deployment, status: { availableReplicas: 1 } });
  await cluster.pass();
  assert.equal(cluster.deployed()?.status, 'True');
  // The site settles too.
  await cluster.pass();
  const written = cluster.api.writes.length;
  await cluster.pass();
  assert.deepEqual(cluster.api.writes.slice(written), []);
});
