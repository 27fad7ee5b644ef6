import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNewCluster } from '../../../src/explain/gather/check-new-cluster.ts';
import { definitions } from '../../../src/explain/gather/served-definitions.ts';
import { clusterOf, type ClusterContent, type Stored } from './support-cluster.ts';

const node = (name: string, kubeletVersion: string, operatingSystem = 'linux'): Stored => ({
  metadata: { name },
  status: { nodeInfo: { kubeletVersion, operatingSystem } },
});
const namespace = (labels: Readonly<Record<string, string>> = {}): Stored => ({ metadata: { name: 'shop', labels } });
const plurals = definitions.map(({ plural }) => plural);

async function checked(content: ClusterContent): Promise<readonly string[]> {
  const steps = await checkNewCluster({ client: clusterOf(content), namespace: 'shop' });
  return steps.filter(({ state }) => state !== 'pass').map(({ state, object, says }) => `${state} ${object}: ${says}`);
}

test('a new cluster with all rights passes', async () => {
  const objects = { nodes: [node('n1', 'v1.36.3')], namespaces: [namespace()] };
  assert.deepEqual(await checked({ objects, undefinedKinds: plurals }), []);
});

test('a cluster that does not suit says what is missing', async () => {
  const nodes = [node('n1', 'v1.30.9'), node('n2', 'v1.36.3', 'windows'), node('n3', 'unreadable')];
  const namespaces = [namespace({ 'pod-security.kubernetes.io/enforce': 'baseline' })];
  assert.deepEqual(await checked({ objects: { nodes, namespaces }, undefinedKinds: plurals, denied: ['csidrivers'] }), [
    'warn namespace/shop: the namespace enforces the Pod Security level baseline, which refuses pods of the node driver',
    'warn nodes: 1 do not run Linux, so pods with listener volumes cannot start there: n2',
    'warn nodes: 1 are older than Kubernetes 1.31, which is not supported: n1',
    'fail create csidrivers: your user may not create csidrivers.storage.k8s.io',
  ]);
});

test('what the user may not read is unknown, and a missing namespace is a warning', async () => {
  assert.deepEqual(await checked({ objects: {}, undefinedKinds: plurals, denied: ['nodes'] }), [
    'warn namespace/shop: does not exist yet',
    'unknown nodes: the nodes cannot be read: GET: nodes is forbidden (403 Forbidden)',
  ]);
});
