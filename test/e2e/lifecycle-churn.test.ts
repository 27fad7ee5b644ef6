/** Sixty pods come and go, each with a Listener of its own: nothing of them is left over, in the API or on the nodes. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import type { PodListeners } from '../../src/api/listeners/index.ts';
import type { Pod } from '../../src/kube/objects.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { untilInstalled } from './support/installation.ts';
import { API, byClass, pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { untilCollected, VOLUME } from './support/replicas.ts';

const WAVES = 3;
const WAVE = 20;

describe('sixty pods that come and go', { timeout: 900_000 }, () => {
  const cluster = connectCluster();
  before(() => untilInstalled(cluster));
  const namespace = useNamespace('churn', { internal: { serviceType: 'ClusterIP' } }, cluster);
  const className = namespace.className('internal');
  const uids = new Set<string>();
  const addresses = new Set<string>();

  it('all run, each with an address of its own', async () => {
    for (let wave = 0; wave < WAVES; wave += 1) {
      const names = Array.from({ length: WAVE }, (_, n) => `w${wave}-${n}`);
      await Promise.all(
        names.map((name) =>
          namespace.create(
            pod(name, {
              volumes: { [VOLUME]: byClass(className) },
              ports: [{ name: 'http', containerPort: 8080 }],
              labels: { wave: String(wave) },
            }),
          ),
        ),
      );
      await eventually(
        `wave ${wave} to run`,
        async () => {
          const waiting = (await podsOf(wave)).filter(({ status }) => status?.phase !== 'Running');
          if (waiting.length > 0) throw new Error(`${waiting.length} of ${WAVE} wait, first ${waiting[0]?.metadata.name}`);
          return true;
        },
        { timeoutMs: 240_000, everyMs: 250 },
      );
      for (const { metadata } of await podsOf(wave)) uids.add(metadata.uid ?? '');
      for (const { spec } of await requests()) {
        for (const { address } of spec.listeners[VOLUME]?.ingressAddresses ?? []) addresses.add(address);
      }
      // Not waited for: one wave goes while the next one comes.
      await cluster.api.remove(`/api/v1/namespaces/${namespace.name}/pods?labelSelector=wave%3D${wave}`);
    }
    assert.equal(uids.size, WAVES * WAVE);
    assert.equal(addresses.size, WAVES * WAVE);
  });

  it('leave nothing in the API', async () => {
    await untilCollected(cluster, namespace.name, { timeoutMs: 240_000 });
  });

  it('leave nothing on the nodes', async () => {
    await eventually(
      'their volumes to be removed',
      () => {
        const pods = cluster.nodes.flatMap(({ kubeletDir }) => [...uids].map((uid) => `${kubeletDir}/pods/${uid}`));
        const left = pods.flatMap((folder) => filesOf(`${folder}/volumes/kubernetes.io~csi`));
        if (left.length > 0) throw new Error(`${left.length} are left, such as ${left.slice(0, 3).join(', ')}`);
        return true;
      },
      { timeoutMs: 180_000 },
    );
  });

  async function podsOf(wave: number): Promise<readonly Pod[]> {
    const path = `/api/v1/namespaces/${namespace.name}/pods?labelSelector=wave%3D${wave}`;
    return (await cluster.api.get<{ readonly items: readonly Pod[] }>(path)).items;
  }

  async function requests(): Promise<readonly PodListeners[]> {
    const path = `/apis/${API}/namespaces/${namespace.name}/podlisteners`;
    return (await cluster.api.get<{ readonly items: readonly PodListeners[] }>(path)).items;
  }
});

function filesOf(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => `${folder}/${name}`) : [];
}
