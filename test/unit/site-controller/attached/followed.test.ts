import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachedConnectorBindings, attachedConnectors } from '../../../../src/api/skupper/index.ts';
import { attachedNamespaces, concernedBy, sitesOf } from '../../../../src/site-controller/attached/concerned.ts';
import type { KubeObject, Pod } from '../../../../src/kube/objects.ts';
import { pods, services } from '../../../../src/kube/resource.ts';
import { playedCluster, type PlayedCluster } from '../support/played-cluster.ts';

const apiVersion = 'skupper.io/v2alpha1';

function attach({ api }: PlayedCluster, name: string, namespace: string, siteNamespace: string): void {
  const spec = { siteNamespace, port: 80, selector: 'app=x' };
  api.put(attachedConnectors, { apiVersion, kind: 'AttachedConnector', metadata: { name, namespace }, spec });
}

function bind({ api }: PlayedCluster, name: string, namespace: string, connectorNamespace: string): void {
  const spec = { connectorNamespace, routingKey: 'x' };
  api.put(attachedConnectorBindings, { apiVersion, kind: 'AttachedConnectorBinding', metadata: { name, namespace }, spec });
}

const pod = (name: string, namespace: string, ip: string, phase = 'Running'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { app: 'x' } },
  status: { phase, podIP: ip, conditions: [{ type: 'Ready', status: 'True' }] },
});

test('pods are followed in namespaces that a site has attached, and in no others', async () => {
  using cluster = await playedCluster();
  const { api, caches } = cluster;
  attach(cluster, 'both', 'workload', 'hub');
  attach(cluster, 'unasked', 'stranger', 'hub');
  bind(cluster, 'both', 'hub', 'workload');
  bind(cluster, 'alone', 'hub', 'elsewhere');
  api.put(pods, pod('a', 'workload', '10.0.0.1'));
  api.put(pods, pod('b', 'stranger', '10.0.0.2'));
  assert.deepEqual(attachedNamespaces(caches), new Set(['workload']));
  assert.deepEqual(sitesOf(caches, 'workload'), ['hub']);
  const told: string[] = [];
  const first = Promise.withResolvers<void>();
  caches.onPods((namespace) => {
    told.push(namespace);
    if (caches.podsOf(namespace) !== undefined) first.resolve();
  });
  assert.equal(caches.podsOf('workload'), undefined, 'they have not been listed yet');
  caches.followPods(attachedNamespaces(caches));
  await first.promise;
  assert.deepEqual(caches.podsOf('workload'), [{ name: 'a', labels: { app: 'x' }, ip: '10.0.0.1', running: true, ready: true }]);
  assert.equal(caches.podsOf('stranger'), undefined);
  told.length = 0;
  api.put(pods, pod('b', 'stranger', '10.0.0.3'));
  api.put(pods, {
    ...pod('a', 'workload', '10.0.0.1'),
    metadata: { name: 'a', namespace: 'workload', labels: { app: 'x' }, annotations: { seen: 'x' } },
  });
  assert.deepEqual(told, [], 'nothing that anybody asks for is another');
  api.put(pods, pod('a', 'workload', '10.0.0.1', 'Failed'));
  api.remove(pods, 'workload/a');
  assert.deepEqual(told, ['workload', 'workload']);
  assert.deepEqual(caches.podsOf('workload'), []);
  caches.followPods(new Set());
  assert.equal(caches.podsOf('workload'), undefined);
  api.put(pods, pod('c', 'workload', '10.0.0.4'));
  assert.deepEqual(told, ['workload', 'workload']);
});

test('a change on one side is looked at on the other, where it was before as well', () => {
  const connector = (siteNamespace: unknown): KubeObject =>
    ({ metadata: { name: 'x', namespace: 'workload' }, spec: { siteNamespace } }) as KubeObject;
  const binding = { metadata: { name: 'x', namespace: 'hub' }, spec: { connectorNamespace: 'workload' } } as KubeObject;
  assert.deepEqual(concernedBy(attachedConnectors, { object: connector('hub'), previous: connector('before') } as never), [
    'hub',
    'before',
  ]);
  assert.deepEqual(concernedBy(attachedConnectors, { object: connector('hub'), previous: connector('hub') } as never), ['hub']);
  assert.deepEqual(concernedBy(attachedConnectors, { object: connector(7) } as never), []);
  assert.deepEqual(concernedBy(attachedConnectorBindings, { object: binding } as never), ['workload']);
  assert.deepEqual(concernedBy(services, { object: binding } as never), []);
});
