import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodListeners } from '../../../src/api/listeners/index.ts';
import { showMounts } from '../../../src/exposure/listener-metrics.ts';
import { metrics } from '../../../src/telemetry/metrics.ts';

const mountsIn = async (): Promise<readonly string[]> => (await metrics.metrics()).match(/^earshot_mounts\{.*$/gm) ?? [];

test('mounts are counted while this replica leads, without those of pods that end', async () => {
  const object: PodListeners = {
    metadata: { name: 'pod-1', namespace: 'a' },
    spec: {
      nodeName: 'n1',
      listeners: { web: { scope: 'Cluster', ingressAddresses: [], volumeHandle: 'v1' } },
      mounts: { v1: {}, v2: {}, v3: {}, v4: {} },
    },
    status: { mounts: { v3: { reason: 'LoadBalancerPending', message: 'no address' }, v4: { reason: 'PodEnding', message: 'it ends' } } },
  };
  assert.deepEqual(await mountsIn(), []);
  {
    using _shown = showMounts({ values: () => [object].values() });
    assert.deepEqual(await mountsIn(), ['earshot_mounts{state="ready"} 1', 'earshot_mounts{state="waiting"} 2']);
  }
  assert.deepEqual(await mountsIn(), []);
});
