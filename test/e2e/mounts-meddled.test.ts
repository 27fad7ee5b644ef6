/** A pod may do with its volume as it likes. What it does must not keep the volume from being followed, nor from being removed. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { eventually } from '../harness/index.ts';
import { byClass, pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';

const MEDDLING = {
  'hands its volume to another user': 'chown -R 1000:1000 /listeners/listener',
  'nests folders of another user in it, under a sticky bit':
    'cd /listeners/listener && mkdir -p mine/deep && chown -R 1000:1000 . && chmod -R 1700 . && chmod 1777 mine',
} as const;

describe('a pod that meddles with its volume', { timeout: 400_000, concurrency: 2 }, () => {
  const namespace = useNamespace('meddled', { inside: { serviceType: 'ClusterIP', preferredAddressType: 'Hostname' } });
  const { cluster } = namespace;
  const inside = namespace.className('inside');

  for (const [index, [what, script]] of Object.entries(MEDDLING).entries()) {
    it(`and ${what} still sees new addresses, and leaves nothing behind`, async () => {
      const name = `meddler-${index}`;
      const claimName = `${name}-listener`;
      await namespace.create(
        pod(name, {
          volumes: { listener: byClass(inside) },
          ports: [{ name: 'http', containerPort: 80 }],
          script: `${script}; exec sleep 2147483647`,
        }),
      );
      const [running] = await namespace.running(name);
      assert.ok(running !== undefined);
      const node = cluster.nodes.find((each) => each.name === running.spec.nodeName);
      const volume = await namespace.volumeOf(claimName);
      const folder = `${node?.kubeletDir}/pods/${running.metadata.uid}/volumes/kubernetes.io~csi/${volume.metadata.name}`;
      assert.ok(existsSync(folder));

      await namespace.patch('listeners.stackable.tech/v1alpha1', 'Listener', claimName, { spec: { ports: [{ name: 'http', port: 81 }] } });
      await eventually(
        'the new port in the file',
        async () => (await cluster.exec(namespace.name, name, ['cat', '/listeners/listener/default-address/ports/http'])) === '81',
      );

      await namespace.remove('v1', 'Pod', name);
      await eventually('the end of the volume', () => Promise.resolve(!existsSync(folder)), { timeoutMs: 180_000 });
    });
  }
});
