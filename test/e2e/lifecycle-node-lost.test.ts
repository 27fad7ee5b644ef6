/** A node is lost: its Node object is deleted while pods with addresses of it exist. The class decides what happens to them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Listener } from '../../src/api/listeners/index.ts';
import type { PersistentVolumeClaim } from '../../src/kube/objects.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { untilInstalled } from './support/installation.ts';
import { API, byClass, byListener, claim, pod, statefulSet } from './support/manifests.ts';
import { conditionOf, useNamespace, type RunningPod } from './support/namespace.ts';
import { addressesOf, listenerOf, runsAnew, untilCordoned, untilWaits, VOLUME, whereabouts, type Whereabouts } from './support/replicas.ts';

const PORTS = [{ name: 'http', port: 8080 }];
const CONTAINER_PORTS = [{ name: 'http', containerPort: 8080 }];

describe('a node that is deleted', { timeout: 580_000 }, () => {
  const cluster = connectCluster();
  const [staying, lost] = cluster.nodes.map(({ name }) => name) as [string, string]; // The shared cluster has two.
  /** Replicas as they were while the node was there. */
  let kept: Whereabouts;
  let released: Whereabouts;
  let releasedPod: RunningPod;
  let releasedClaim: PersistentVolumeClaim;
  let sharedAddresses: readonly string[];

  const cordon = (unschedulable: boolean): Promise<unknown> => cluster.api.patch(`/api/v1/nodes/${staying}`, { spec: { unschedulable } });
  const sharedListener = (): Promise<Listener | undefined> => namespace.get<Listener>(API, 'Listener', 'shared');

  before(() => untilInstalled(cluster));
  after(async () => {
    await cluster.addNode(lost);
    await cordon(false);
    await untilInstalled(cluster);
  });
  const namespace = useNamespace(
    'node-lost',
    {
      keep: { serviceType: 'NodePort', pinnedNodePorts: true },
      release: { serviceType: 'NodePort', pinnedNodePorts: true, nodeLossPolicy: 'Release' },
    },
    cluster,
  );
  before(async () => {
    const [keeping, releasing] = [namespace.className('keep'), namespace.className('release')];
    await cordon(true);
    await untilCordoned(namespace, staying);
    await namespace.create(
      statefulSet('kept', 1, { [VOLUME]: byClass(keeping) }, { ports: CONTAINER_PORTS }),
      statefulSet('released', 1, { [VOLUME]: byClass(releasing) }, { ports: CONTAINER_PORTS }),
    );
    [kept, released] = await Promise.all([whereabouts(namespace, 'kept-0'), whereabouts(namespace, 'released-0')]);
    await cordon(false);
    await namespace.listener('shared', { className: keeping, ports: PORTS });
    for (const node of [staying, lost]) {
      const name = `on-${node}`;
      await namespace.create(claim(name, byListener('shared')), pod(name, { volumes: { shared: name }, ports: CONTAINER_PORTS, node }));
    }
    await namespace.running(`on-${staying}`, `on-${lost}`);
    sharedAddresses = addressesOf((await namespace.untilListener('shared', 'to have two addresses', hasTwoAddresses)).status);
    assert.deepEqual([kept.node, released.node], [lost, lost]);
    [releasedPod] = (await namespace.running('released-0')) as [RunningPod]; // As many as names.
    releasedClaim = await namespace.claim(listenerOf('released-0'));

    await cluster.deleteNode(lost);
    // Kubernetes' own collector of such pods comes round only after a minute.
    const ofLost = ['--namespace', namespace.name, `--field-selector=spec.nodeName=${lost}`];
    await cluster.kubectl(['delete', 'pods', ...ofLost, '--force', '--grace-period=0', '--wait=false']);
  });

  it('is named by the condition of a Listener that has no other address', async () => {
    const { message } = await namespace.condition(listenerOf('kept-0'), 'Ready', 'False', 'NodeMissing');
    assert.match(message, new RegExp(`Node ${lost} does not exist any more.*waits for the Node to come back`));
    await namespace.event({ kind: 'Listener', name: listenerOf('kept-0') }, new RegExp(`Node ${lost} does not exist any more`));
  });

  it('takes only its own address from a Listener that has others', async () => {
    const { message } = await namespace.condition('shared', 'Ready', 'True', 'SomeNodesMissing');
    assert.match(message, new RegExp(`Node ${lost} does not exist any more`));
    const left = addressesOf((await sharedListener())?.status);
    const { addresses: [own] = [] } = cluster.nodes.find(({ name }) => name === staying) ?? { addresses: [] };
    assert.deepEqual(
      left,
      sharedAddresses.filter((address) => address.startsWith(`${own}:`)),
    );
    assert.equal(left.length, 1);
  });

  it('is given up by a class that releases: the pod starts on the other node, with a new claim and a new address', async () => {
    await runsAnew(namespace, releasedPod);
    const now = await whereabouts(namespace, 'released-0');
    assert.equal(now.node, staying);
    assert.notEqual(now.listenerUid, released.listenerUid);
    assert.notDeepEqual(now.addresses, released.addresses);
    assert.notEqual((await namespace.claim(listenerOf('released-0'))).metadata.uid, releasedClaim.metadata.uid);
    const about = { kind: 'PersistentVolumeClaim', name: listenerOf('released-0') };
    await namespace.event(about, new RegExp(`Node ${lost} was deleted, so its address is released`));
    await eventually(
      'the volume of the lost node to be gone',
      async () => (await cluster.api.find(`/api/v1/persistentvolumes/${releasedClaim.spec?.volumeName}`)) === undefined,
    );
  });

  it('is waited for by a pod of a class that keeps, and its address is kept for it', async () => {
    await untilWaits(namespace, 'kept-0');
    const listener = await namespace.get<Listener>(API, 'Listener', listenerOf('kept-0'));
    assert.equal(listener?.metadata.uid, kept.listenerUid);
    assert.deepEqual(Object.values(listener?.status?.nodePorts ?? {}).map(String), kept.addresses[0]?.split(':').slice(1));
  });

  describe('and comes back', () => {
    before(() => cluster.addNode(lost));

    it('runs the pod that waited for it, at the same address', async () => {
      assert.deepEqual(await whereabouts(namespace, 'kept-0'), kept);
      const listener = await namespace.condition(listenerOf('kept-0'), 'Ready', 'True', 'AddressesAssigned');
      assert.match(listener.message, /^Reachable at/);
    });

    it('is an address of the shared Listener again', async () => {
      const listener = await namespace.untilListener('shared', 'to have two addresses again', hasTwoAddresses);
      assert.deepEqual(addressesOf(listener.status), sharedAddresses);
      assert.equal(conditionOf(listener, 'Ready')?.reason, 'AddressesAssigned');
    });
  });
});

function hasTwoAddresses({ status }: Listener): boolean {
  return status?.ingressAddresses?.length === 2;
}
