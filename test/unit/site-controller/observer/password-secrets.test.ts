/** A NetworkObserver against an API server in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../src/kube/errors.ts';
import type { Deployment, KubeObject, Secret } from '../../../../src/kube/objects.ts';
import { deployments, secrets } from '../../../../src/kube/resource.ts';
import { openNamespace, type ObservedNamespace } from './support/observed-namespace.ts';

async function open(): Promise<ObservedNamespace> {
  const namespace = await openNamespace();
  namespace.putSite();
  namespace.observe('network-observer');
  return namespace;
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
