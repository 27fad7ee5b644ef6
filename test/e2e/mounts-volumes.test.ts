import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import type { ContainerPort } from '../../src/kube/objects.ts';
import type { Listener, ListenerIngress } from '../../src/api/listeners/index.ts';
import { eventually } from '../harness/index.ts';
import { answerFromOutside } from './support/clients.ts';
import { API, byClass, byListener, claim, container, pod, SLEEP, statefulSet, webServer } from './support/manifests.ts';
import { type RunningPod, useNamespace } from './support/namespace.ts';
import { becomesTree, expectedTree } from './support/tree.ts';

const PORT = 8080;
const PORTS = [{ name: 'http', containerPort: PORT }];

describe('listener volumes', { timeout: 400_000, concurrency: 3 }, () => {
  const namespace = useNamespace('volumes');
  const { cluster } = namespace;
  const [one, two] = cluster.nodes;
  assert.ok(one !== undefined && two !== undefined);
  let outside: string;
  let inside: string;

  before(async () => {
    outside = await namespace.class('outside', { serviceType: 'NodePort' });
    inside = await namespace.class('inside', { serviceType: 'ClusterIP', preferredAddressType: 'IP' });
  });

  it('of a StatefulSet give each replica a Listener of its own, at which that replica answers', async () => {
    await namespace.create(statefulSet('web', 2, { listener: byClass(outside) }, { ports: PORTS, script: webServer(PORT) }));
    for (const replica of await namespace.running('web-0', 'web-1')) {
      const name = replica.metadata.name ?? '';
      const { status } = await namespace.ready(`listener-${name}`);
      const [ingress, ...others] = status?.ingressAddresses ?? [];
      assert.ok(ingress !== undefined && others.length === 0);
      assert.equal(ingress.address, addressOf(replica));
      assert.deepEqual(await namespace.tree(name, 'listener'), expectedTree([ingress]));
      assert.equal(await answerFromOutside(cluster, ingress.address, ingress.ports['http'] ?? 0), name);
    }
  });

  it("that are ephemeral make a Listener with the claim's name and labels and the pod's ports, owned by the volume", async () => {
    const volume = {
      name: 'listener',
      ephemeral: {
        volumeClaimTemplate: {
          metadata: { annotations: byClass(inside), labels: { team: 'blue' } },
          spec: { storageClassName: 'listeners.stackable.tech', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
        },
      },
    };
    const options = { volumes: { listener: byClass(inside) }, ports: PORTS };
    await namespace.create(pod('ephemeral', { ...options, spec: { volumes: [volume] } }));
    await namespace.running('ephemeral');
    const { metadata, spec } = await namespace.ready('ephemeral-listener');
    assert.deepEqual(metadata.labels, { team: 'blue' });
    assert.deepEqual(spec, {
      className: inside,
      ports: [{ name: 'http', port: PORT, protocol: 'TCP' }],
      publishNotReadyAddresses: true,
      extraPodSelectorLabels: {},
      objectOverrides: [],
    });
    const persistent = await namespace.volumeOf('ephemeral-listener');
    assert.deepEqual(
      metadata.ownerReferences?.map(({ kind, uid }) => ({ kind, uid })),
      [{ kind: 'PersistentVolume', uid: persistent.metadata.uid }],
    );
    assert.equal(persistent.metadata.labels?.['listeners.stackable.tech/listener-name'], 'ephemeral-listener');
    assert.equal(persistent.metadata.labels?.['listeners.stackable.tech/listener-namespace'], namespace.name);
    assert.equal(persistent.spec?.nodeAffinity, undefined, 'nothing binds it to a node');
  });

  it('of one claim, shared by pods on two nodes, show each pod the address of its own node, and the Listener both', async () => {
    await namespace.listener('shared', { className: outside, ports: [{ name: 'http', port: PORT }] });
    await namespace.create(
      claim('shared', byListener('shared'), { accessMode: 'ReadWriteMany' }),
      ...[one, two].map(({ name }, index) =>
        pod(`shared-${index}`, { node: name, volumes: { listener: 'shared' }, script: webServer(PORT) }),
      ),
    );
    const pods = await namespace.running('shared-0', 'shared-1');
    const { status } = await namespace.untilListener(
      'shared',
      'to be on both nodes',
      (listener) => listener.status?.ingressAddresses?.length === 2,
    );
    assert.deepEqual(
      status?.ingressAddresses?.map(({ address }) => address),
      [one, two].map(({ addresses }) => addresses[0]),
    );
    for (const each of pods) {
      const own: readonly ListenerIngress[] = status?.ingressAddresses?.filter(({ address }) => address === addressOf(each)) ?? [];
      assert.deepEqual(await namespace.tree(each.metadata.name ?? '', 'listener'), expectedTree(own));
    }
    const seen = new Set<string>();
    await eventually('both pods to answer at one address', async () => {
      const [ingress] = status?.ingressAddresses ?? [];
      seen.add(await answerFromOutside(cluster, ingress?.address ?? '', ingress?.ports['http'] ?? 0));
      return seen.size === 2;
    });
  });

  it('stand side by side in one pod, of classes and of Listeners', async () => {
    await namespace.listener('beside', { className: inside, ports: [{ name: 'other', port: 1234 }] });
    await namespace.create(
      claim('beside', byListener('beside')),
      pod('several', { volumes: { first: byClass(inside), second: byClass(outside), third: 'beside' }, ports: PORTS }),
    );
    await namespace.running('several');
    const listeners = await Promise.all(['several-first', 'several-second', 'beside'].map((name) => namespace.ready(name)));
    for (const [index, volume] of ['first', 'second', 'third'].entries()) {
      assert.deepEqual(await namespace.tree('several', volume), expectedTree(listeners[index]?.status?.ingressAddresses ?? []));
    }
    const { metadata } = await namespace.until<RunningPod>({ apiVersion: 'v1', kind: 'Pod', name: 'several' }, 'to exist', () => true);
    const labels = listeners.map((listener: Listener) => [
      `listener.stackable.tech/mnt.${listener.metadata.uid?.replaceAll('-', '')}`,
      listener.metadata.name,
    ]);
    assert.deepEqual(Object.entries(metadata.labels ?? {}).toSorted(), labels.toSorted());
  });

  it('are there before init containers run, and bring the ports of sidecars, not those of containers that end', async () => {
    const options = { volumes: { listener: byClass(inside) } };
    const shared = { name: 'shared', mountPath: '/shared' };
    const mounts = [{ name: 'listener', mountPath: '/listeners/listener' }, shared];
    await namespace.create(
      pod('stages', {
        ...options,
        ports: PORTS,
        container: { volumeMounts: mounts },
        spec: {
          initContainers: [
            container('early', {
              ...options,
              script: 'cat /listeners/listener/default-address/address > /shared/seen',
              ports: [{ name: 'gone', containerPort: 1 }],
              container: { volumeMounts: mounts },
            }),
            container('proxy', {
              ...options,
              script: SLEEP,
              ports: [{ name: 'proxy', containerPort: 15_001 }],
              container: { restartPolicy: 'Always' },
            }),
          ],
          volumes: [
            {
              name: 'listener',
              ephemeral: {
                volumeClaimTemplate: {
                  metadata: { annotations: byClass(inside) },
                  spec: {
                    storageClassName: 'listeners.stackable.tech',
                    accessModes: ['ReadWriteOnce'],
                    resources: { requests: { storage: '1' } },
                  },
                },
              },
            },
            { name: 'shared', emptyDir: {} },
          ],
        },
      }),
    );
    await namespace.running('stages');
    const { spec, status } = await namespace.ready('stages-listener');
    assert.deepEqual(
      spec.ports?.map(({ name, port }) => [name, port]),
      [
        ['http', PORT],
        ['proxy', 15_001],
      ],
    );
    assert.equal(await namespace.exec('stages', ['cat', '/shared/seen']), status?.ingressAddresses?.[0]?.address);
    assert.deepEqual(await namespace.tree('stages', 'listener', 'proxy'), expectedTree(status?.ingressAddresses ?? []));
  });

  it("make a pod in its node's own network reachable like any other", async () => {
    const port = 18_080;
    await namespace.create(
      pod('host', {
        volumes: { listener: byClass(outside) },
        ports: [{ name: 'http', containerPort: port }],
        script: 'mkdir -p /tmp/www; echo host > /tmp/www/index.html; exec httpd -f -p 18080 -h /tmp/www',
        spec: { hostNetwork: true },
      }),
    );
    const [host] = await namespace.running('host');
    assert.ok(host);
    const { status } = await namespace.ready('host-listener');
    const [ingress] = status?.ingressAddresses ?? [];
    assert.equal(ingress?.address, addressOf(host));
    assert.deepEqual(await namespace.tree('host', 'listener'), expectedTree(status?.ingressAddresses ?? []));
    assert.equal(await answerFromOutside(cluster, ingress?.address ?? '', ingress?.ports['http'] ?? 0), 'host');
  });

  it('of a claim that outlives its pod have the ports of the pod that comes next, at the same node ports', async () => {
    await namespace.create(claim('stays', byClass(outside)));
    const httpPort = async (...ports: readonly ContainerPort[]): Promise<number> => {
      await namespace.create(pod('comes-next', { node: one.name, volumes: { listener: 'stays' }, ports }));
      await namespace.running('comes-next');
      const { status } = await namespace.untilListener(
        'stays',
        'to have the ports of the pod',
        (listener) => Object.keys(listener.status?.nodePorts ?? {}).length === ports.length,
      );
      const numbers = Object.fromEntries(ports.map(({ name = '' }) => [name, status?.nodePorts?.[name] ?? 0]));
      await becomesTree(
        () => namespace.tree('comes-next', 'listener'),
        [{ address: one.addresses[0] ?? '', addressType: 'IP', ports: numbers }],
      );
      await namespace.remove('v1', 'Pod', 'comes-next');
      await eventually('the pod to be gone', async () => (await namespace.get('v1', 'Pod', 'comes-next')) === undefined);
      return numbers['http'] ?? 0;
    };
    const http = { name: 'http', containerPort: PORT };
    const first = await httpPort(http);
    assert.equal(await httpPort(http, { name: 'metrics', containerPort: 9100 }), first);
    assert.equal(await httpPort(http), first);
  });

  it('leave nothing behind when their pod goes: no files on the node, no objects', async () => {
    await namespace.create(pod('short', { node: one.name, volumes: { listener: byClass(inside) }, ports: PORTS }));
    const [short] = await namespace.running('short');
    const folder = `${one.kubeletDir}/pods/${short?.metadata.uid}/volumes/kubernetes.io~csi`;
    assert.equal((await readdir(folder)).length, 1);
    const objects = [
      { apiVersion: API, kind: 'PodListeners', name: `pod-${short?.metadata.uid}` },
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'short-listener' },
      { apiVersion: 'v1', kind: 'PersistentVolume', name: (await namespace.volumeOf('short-listener')).metadata.name ?? '' },
      { apiVersion: API, kind: 'Listener', name: 'short-listener' },
      { apiVersion: 'v1', kind: 'Service', name: 'short-listener' },
    ];
    for (const object of objects) await namespace.until(object, 'to exist', () => true);
    await namespace.remove('v1', 'Pod', 'short');
    for (const { apiVersion, kind, name } of objects) {
      await eventually(`${kind} ${name} to be gone`, async () => (await namespace.get(apiVersion, kind, name)) === undefined);
    }
    await eventually(`${folder} to be empty`, async () => (await readdir(folder).catch(() => [])).length === 0);
  });

  function addressOf({ spec }: RunningPod): string {
    return cluster.nodes.find(({ name }) => name === spec.nodeName)?.addresses[0] ?? '';
  }
});
