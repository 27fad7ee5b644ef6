/** A volume that is retained keeps its Listener for the next claim of its name (docs/concepts.md). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../harness/index.ts';
import { byClass, claim, pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';

const PORTS = [{ name: 'http', containerPort: 8080 }];

describe('a retained volume', { timeout: 300_000 }, () => {
  const namespace = useNamespace('retained', { port: { serviceType: 'NodePort', pinnedNodePorts: true } });
  const { cluster } = namespace;

  it('gives its Listener, address and all, to the next claim of its name', async () => {
    const create = (): Promise<unknown> =>
      namespace.create(claim('kept', byClass(namespace.className('port'))), pod('kept', { volumes: { l: 'kept' }, ports: PORTS }));
    await create();
    await namespace.running('kept');
    const before = await namespace.ready('kept');
    const volume = await namespace.volumeOf('kept');
    const path = `/api/v1/persistentvolumes/${volume.metadata.name}`;
    await cluster.api.patch(path, { spec: { persistentVolumeReclaimPolicy: 'Retain' } });
    await namespace.remove('v1', 'Pod', 'kept');
    await namespace.remove('v1', 'PersistentVolumeClaim', 'kept');
    await eventually('the claim to be gone', async () =>
      (await namespace.get('v1', 'PersistentVolumeClaim', 'kept')) === undefined ? true : undefined,
    );
    await create();
    await namespace.running('kept');
    const after = await namespace.ready('kept');
    assert.equal(after.metadata.uid, before.metadata.uid);
    assert.deepEqual(after.status?.nodePorts, before.status?.nodePorts);
    const owners = (after.metadata.ownerReferences ?? []).map(({ uid }) => uid);
    assert.deepEqual(owners, [(await namespace.volumeOf('kept')).metadata.uid]);
    const [tree, ...others] = after.status?.ingressAddresses ?? [];
    assert.deepEqual(others, []);
    const { status } = (await namespace.running('kept'))[0] ?? {};
    assert.equal(tree?.address, status?.hostIP);
    await cluster.api.remove(path);
    await namespace.ready('kept');
  });
});
