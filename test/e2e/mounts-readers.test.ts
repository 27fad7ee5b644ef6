import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerService } from '../harness/index.ts';
import { byClass, byListener, claim, pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { becomesTree, expectedTree } from './support/tree.ts';

const PORT = 8080;
const PORTS = [{ name: 'http', containerPort: PORT }];

describe('who may read a listener volume', { timeout: 400_000, concurrency: 4 }, () => {
  const namespace = useNamespace('readers', {
    inside: { serviceType: 'ClusterIP', preferredAddressType: 'IP' },
    balanced: { serviceType: 'LoadBalancer', loadBalancerClass: 'stand-in.example/cloud' },
  });
  const { cluster } = namespace;
  const inside = namespace.className('inside');
  const balanced = namespace.className('balanced');

  it('pods by every access mode of a claim, and by a claim that they may only read', async () => {
    const modes = { rwo: 'ReadWriteOnce', rwx: 'ReadWriteMany', rox: 'ReadOnlyMany', rwop: 'ReadWriteOncePod' } as const;
    await namespace.listener('modes', { className: inside, ports: [{ name: 'http', port: PORT }] });
    for (const [name, accessMode] of Object.entries(modes)) await namespace.create(claim(name, byListener('modes'), { accessMode }));
    const volumes = Object.fromEntries(Object.keys(modes).map((name) => [name, name]));
    await namespace.create(
      pod('modes', {
        volumes,
        spec: {
          volumes: Object.keys(modes).map((name) => ({ name, persistentVolumeClaim: { claimName: name, readOnly: name === 'rox' } })),
        },
      }),
    );
    await namespace.running('modes');
    const { status } = await namespace.ready('modes');
    for (const volume of Object.keys(modes))
      assert.deepEqual(await namespace.tree('modes', volume), expectedTree(status?.ingressAddresses ?? []), volume);
    await assert.rejects(namespace.exec('modes', ['touch', '/listeners/rox/mine']), /Read-only file system/);
  });

  const users: readonly {
    readonly name: string;
    readonly behaviour: string;
    readonly securityContext: object;
    readonly readOnly: boolean;
  }[] = [
    {
      name: 'fsgroup',
      behaviour: "a user of the pod's fsGroup",
      securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 },
      readOnly: false,
    },
    { name: 'user', behaviour: 'any user', securityContext: { runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true }, readOnly: false },
    {
      name: 'readonly',
      behaviour: 'a container that mounts it read-only',
      securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 },
      readOnly: true,
    },
  ];

  for (const { name, behaviour, securityContext, readOnly } of users) {
    it(`${behaviour}, and after a change too`, async () => {
      await namespace.create(pod(name, { volumes: { listener: byClass(balanced) }, ports: PORTS, readOnly, spec: { securityContext } }));
      await namespace.untilService(`${name}-listener`, 'to exist', () => true);
      for (const address of ['192.0.2.1', '192.0.2.2']) {
        await answerService(cluster, namespace.name, `${name}-listener`, [{ ip: address }]);
        await namespace.running(name);
        await becomesTree(() => namespace.tree(name, 'listener'), [{ address, addressType: 'IP', ports: { http: PORT } }]);
      }
      assert.equal((await namespace.exec(name, ['id', '-u'])).trim(), '1000');
      if (readOnly) await assert.rejects(namespace.exec(name, ['touch', '/listeners/listener/mine']), /Read-only file system/);
    });
  }
});
