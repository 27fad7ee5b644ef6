/** Replicas keep the address that they announced: through deletes, drains and scaling. Only an address of a node ties them to it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ListenerClassSpec } from '../../src/api/listeners/index.ts';
import { connectCluster, eventually, fakeLoadBalancer, type LoadBalancers } from '../harness/index.ts';
import { answerFromOutside } from './support/clients.ts';
import { API, byClass, statefulSet, webServer } from './support/manifests.ts';
import { useNamespace, type RunningPod } from './support/namespace.ts';
import {
  listenerOf,
  runsAnew,
  untilCollected,
  untilCordoned,
  untilWaits,
  VOLUME,
  whereabouts,
  type Whereabouts,
} from './support/replicas.ts';

const PORT = 8080;
const LOAD_BALANCER_CLASS = 'sticky.example/cloud';
const LOAD_BALANCER_ADDRESS = '203.0.113.251';
/** Makes every pod that may choose choose the other node. */
const TAINT = { key: 'earshot.test/rather-not', value: 'true', effect: 'PreferNoSchedule' };

const classes = {
  pinned: { serviceType: 'NodePort', pinnedNodePorts: true },
  unpinned: { serviceType: 'NodePort' },
  internal: { serviceType: 'ClusterIP', preferredAddressType: 'IP' },
  balanced: { serviceType: 'LoadBalancer', loadBalancerClass: LOAD_BALANCER_CLASS },
} as const satisfies Readonly<Record<string, ListenerClassSpec>>;

const free = ['unpinned', 'internal', 'balanced'] as const;

describe('a replica whose class pins node ports', { timeout: 580_000 }, () => {
  const cluster = connectCluster();
  const [first, second] = cluster.nodes.map(({ name }) => name) as [string, string]; // The shared cluster has two.
  let cloud: LoadBalancers;
  /** Where replica 0 of each set started: all on the first node. */
  const started = new Map<string, Whereabouts>();

  const patchNode = (node: string, spec: object): Promise<unknown> => cluster.api.patch(`/api/v1/nodes/${node}`, { spec });
  const cordon = (node: string, unschedulable: boolean): Promise<unknown> => patchNode(node, { unschedulable });
  const startOf = (set: string): Whereabouts => started.get(set) ?? assert.fail(`${set} has not started`);

  after(async () => {
    await patchNode(first, { taints: null });
    await Promise.all([first, second].map((node) => cordon(node, false)));
    await cloud?.stop();
  });
  const namespace = useNamespace('sticky', {}, cluster);
  before(async () => {
    cloud = fakeLoadBalancer(cluster, [{ ip: LOAD_BALANCER_ADDRESS }], {
      selects: ({ metadata }) => metadata.namespace === namespace.name,
    });
    await cordon(second, true);
    await untilCordoned(namespace, second);
    for (const [set, spec] of Object.entries(classes)) {
      const templates = { [VOLUME]: byClass(await namespace.class(set, spec)) };
      const ports = [{ name: 'http', containerPort: PORT }];
      await namespace.create(statefulSet(set, 1, templates, { ports, script: webServer(PORT), labels: { sticky: set } }));
    }
    for (const set of Object.keys(classes)) started.set(set, await whereabouts(namespace, `${set}-0`));
    await cordon(second, false);
    await patchNode(first, { taints: [TAINT] });
  });

  it('comes back to its node, at the same address and port, when it is deleted', async () => {
    const [pod] = await namespace.running('pinned-0');
    await namespace.remove('v1', 'Pod', 'pinned-0');
    await assertBack(pod);
  });

  it('comes back there when the set is scaled to zero and up again', async () => {
    const [pod] = await namespace.running('pinned-0');
    const scale = (replicas: number): Promise<unknown> => namespace.patch('apps/v1', 'StatefulSet', 'pinned', { spec: { replicas } });
    await scale(0);
    await eventually('the replica to be gone', async () => (await namespace.get('v1', 'Pod', 'pinned-0')) === undefined);
    // Its address waits for it.
    assert.equal((await namespace.get(API, 'Listener', listenerOf('pinned-0')))?.metadata.uid, startOf('pinned').listenerUid);
    await scale(1);
    await assertBack(pod);
  });

  describe('whose node is drained', () => {
    const former = new Map<string, RunningPod>();

    before(async () => {
      for (const set of Object.keys(classes)) former.set(set, await running(`${set}-0`));
      await cluster.kubectl(['drain', first, '--pod-selector=sticky', '--ignore-daemonsets', '--force', '--timeout=100s']);
    });

    it('waits for its node while replicas of other classes start elsewhere', async () => {
      const moved = await Promise.all(free.map(async (set) => (await runsAnew(namespace, formerOf(set))).spec.nodeName));
      assert.deepEqual(
        moved,
        free.map(() => second),
      );
      await untilWaits(namespace, 'pinned-0');
    });

    it('runs there again, at the same address, once pods may', async () => {
      await cordon(first, false);
      await assertBack(formerOf('pinned'));
    });

    it('has taught nothing to the others: their addresses follow their class', async () => {
      for (const set of free) assert.equal((await whereabouts(namespace, `${set}-0`)).listenerUid, startOf(set).listenerUid);
      assert.deepEqual((await whereabouts(namespace, 'internal-0')).addresses, startOf('internal').addresses);
      assert.deepEqual((await whereabouts(namespace, 'balanced-0')).addresses, [`${LOAD_BALANCER_ADDRESS}:${PORT}`]);
      // The port is the Listener's, the address the node's.
      const [, port] = startOf('unpinned').addresses[0]?.split(':') ?? [];
      const { addresses: [own] = [] } = cluster.nodes.find(({ name }) => name === second) ?? { addresses: [] };
      assert.equal((await whereabouts(namespace, 'unpinned-0')).addresses[0], `${own}:${port}`);
    });

    function formerOf(set: string): RunningPod {
      return former.get(set) ?? assert.fail(`${set} did not run`);
    }
  });

  describe('whose set is deleted', () => {
    before(() => namespace.remove('apps/v1', 'StatefulSet', 'pinned'));

    it('keeps its address with its claim, for a set of the same name', async () => {
      await eventually('the replica to be gone', async () => (await namespace.get('v1', 'Pod', 'pinned-0')) === undefined);
      const listener = await namespace.get(API, 'Listener', listenerOf('pinned-0'));
      const { metadata } = await namespace.service(listenerOf('pinned-0'));
      assert.equal(listener?.metadata.uid, startOf('pinned').listenerUid);
      assert.equal(metadata.deletionTimestamp, undefined);
    });

    it('gives it up with its claim: the volume, the Listener and the Service go', async () => {
      const volume = await namespace.volumeOf(listenerOf('pinned-0'));
      await namespace.remove('v1', 'PersistentVolumeClaim', listenerOf('pinned-0'));
      await untilCollected(cluster, namespace.name, { named: [listenerOf('pinned-0'), volume.metadata.name ?? ''] });
    });
  });

  async function running(name: string): Promise<RunningPod> {
    const [pod] = await namespace.running(name);
    return pod ?? assert.fail(`${name} does not run`);
  }

  /** A client outside that knows the address from before finds the new pod there. */
  async function assertBack(pod: RunningPod | undefined): Promise<void> {
    assert.ok(pod);
    await runsAnew(namespace, pod);
    assert.deepEqual(await whereabouts(namespace, 'pinned-0'), startOf('pinned'));
    assert.equal(startOf('pinned').node, first);
    const [address = '', port = ''] = startOf('pinned').addresses[0]?.split(':') ?? [];
    assert.equal(await answerFromOutside(cluster, address, Number(port)), 'pinned-0');
  }
});
