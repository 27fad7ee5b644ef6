import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Certificate } from '../../../src/api/skupper/index.ts';
import { ClusterRouters } from '../../../src/platform/kubernetes/cluster-routers.ts';
import { openCluster } from '../../../src/cli/resources.ts';
import { Cluster } from './cluster.ts';

const monitor = (name: string): Certificate => ({
  apiVersion: 'skupper.io/v2alpha1',
  kind: 'Certificate',
  metadata: { name },
  spec: { ca: 'skupper-local-ca', subject: name, client: true, settings: { purpose: 'api' } },
});

for (const [count, tried, text] of [
  [2, 2, /and the Secret monitor-0 does not have it yet$/],
  [10, 8, /and the Secret monitor-0 does not have it yet; only the first 8 of 10 Secrets were tried$/],
] as const)
  test(`a user without a client certificate says which of ${count} Certificates it has tried`, async () => {
    await using cluster = await Cluster.start();
    const { client } = await openCluster({ kubeconfig: cluster.kubeconfig }, 2_000);
    await using _client = client;
    using routers = new ClusterRouters({
      client,
      reader: { subject: 'your user', namespace: 'west' },
      reach: { needs: { metrics: [], api: [] }, metrics: () => Promise.reject(), openApi: () => Promise.reject() },
      rights: () => ({ kinds: new Set(), refused: [], pods: true, metrics: true, api: true }),
      certificates: () => Promise.resolve(Array.from({ length: count }, (_, index) => monitor(`monitor-${index}`))),
    });
    await assert.rejects(routers.ask('router-1', '/v1/self'), text);
    assert.equal(cluster.requests.filter(({ what }) => what.startsWith('secrets/')).length, tried);
  });
