/** Kubelet and node driver restart while a pod reads its volume: it sees no gap, and follows addresses afterwards. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Listener } from '../../src/api/listeners/index.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { processesWithArgument } from '../harness/proc.ts';
import { SYSTEM, systemPods, untilInstalled, type SystemPod } from './support/installation.ts';
import { byClass, pod } from './support/manifests.ts';
import { useNamespace, type RunningPod } from './support/namespace.ts';
import { untilFile } from './support/tree.ts';

const EXTERNAL = '198.51.100.77';
const PORTS = [{ name: 'http', containerPort: 8080 }];

/** Reads over and over what a program would read, and writes down what it missed. */
const reader = `
cd /listeners/address
while [ ! -e /tmp/stop ]; do
  for file in default-address/address default-address/ports/http; do [ -n "$(cat $file 2>/dev/null)" ] || echo $file >> /tmp/missing; done
  echo >> /tmp/reads
  sleep 0.01
done
`;

describe('restarts on a node where pods run', { timeout: 580_000 }, () => {
  const cluster = connectCluster();
  let running: RunningPod;
  let node: string;
  let own: readonly string[];
  let seen: string;

  before(() => untilInstalled(cluster));
  after(async () => {
    await cluster.startKubelet(node);
    await cluster.setNodeAddresses(node, addresses());
    await untilInstalled(cluster);
  });
  const namespace = useNamespace('node-driver', { nodeport: { serviceType: 'NodePort' } }, cluster);
  const className = namespace.className('nodeport');
  before(async () => {
    await namespace.create(pod('reads', { volumes: { address: byClass(className) }, ports: PORTS, script: reader }));
    const [started] = await namespace.running('reads');
    assert.ok(started);
    running = started;
    node = running.spec.nodeName;
    own = cluster.nodes.find(({ name }) => name === node)?.addresses ?? [];
    seen = await shown();
  });
  afterEach(async () => {
    assert.equal(await inPod('cat /tmp/missing 2>/dev/null || echo none'), 'none\n');
    const readsBefore = Number(await inPod('wc -l < /tmp/reads'));
    await eventually('the pod to read on', async () => Number(await inPod('wc -l < /tmp/reads')) > readsBefore + 10);
    const [now] = await namespace.running('reads');
    assert.equal(now?.metadata.uid, running.metadata.uid);
  });

  it('leaves files alone when the kubelet restarts', async () => {
    await cluster.stopKubelet(node);
    await cluster.startKubelet(node);
    await anotherPodRuns('after-kubelet');
    assert.equal(await shown(), seen);
  });

  it('leaves files alone when the driver is killed, and mounts again once it is back', async () => {
    const driver = await driverPod();
    process.kill(driverProcess(), 'SIGKILL');
    await eventually('the driver to be restarted', async () => restartsOf(await driverPod()) > restartsOf(driver));
    await anotherPodRuns('after-driver');
    assert.equal(await shown(), seen);
  });

  it('leaves files alone when the drivers are replaced by an upgrade', async () => {
    const driver = await driverPod();
    const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() };
    const template = { metadata: { annotations } };
    await cluster.api.patch(`/apis/apps/v1/namespaces/${SYSTEM}/daemonsets/earshot-node`, { spec: { template } });
    await untilInstalled(cluster);
    assert.notEqual((await driverPod()).metadata.uid, driver.metadata.uid);
    await anotherPodRuns('after-upgrade');
    assert.equal(await shown(), seen);
  });

  it('follows a change of addresses afterwards, without a moment in which there is no file', async () => {
    await cluster.setNodeAddresses(node, [...addresses(), { type: 'ExternalIP', address: EXTERNAL }]);
    await namespace.exec('reads', untilFile('/listeners/address/default-address/address', EXTERNAL));
    await cluster.setNodeAddresses(node, addresses());
    await namespace.exec('reads', untilFile('/listeners/address/default-address/address', own[0] ?? ''));
  });

  it('follows a change that happened while the driver was away', async () => {
    // Stopped rather than killed: the kubelet restarts what is killed within the second.
    const pid = driverProcess();
    process.kill(pid, 'SIGSTOP');
    await cluster.setNodeAddresses(node, [...addresses(), { type: 'ExternalIP', address: EXTERNAL }]);
    const hasNewAddress = ({ status }: Listener): boolean => status?.ingressAddresses?.[0]?.address === EXTERNAL;
    await namespace.untilListener('reads-address', 'to have the new address', hasNewAddress);
    process.kill(pid, 'SIGKILL');
    await namespace.exec('reads', untilFile('/listeners/address/default-address/address', EXTERNAL));
    await cluster.setNodeAddresses(node, addresses());
    await namespace.exec('reads', untilFile('/listeners/address/default-address/address', own[0] ?? ''));
  });

  it('leaves nothing of a pod that was deleted while the kubelet was away', async () => {
    const [gone] = await anotherPodRuns('deleted-meanwhile');
    await cluster.stopKubelet(node);
    await cluster.kubectl(['delete', 'pod', 'deleted-meanwhile', '--namespace', namespace.name, '--force', '--grace-period=0']);
    assert.notDeepEqual(volumeFolders(gone?.metadata.uid ?? ''), []);
    await cluster.startKubelet(node);
    await eventually('its volume to be gone', () => volumeFolders(gone?.metadata.uid ?? '').length === 0, { timeoutMs: 180_000 });
  });

  async function anotherPodRuns(name: string): Promise<readonly RunningPod[]> {
    await namespace.create(pod(name, { volumes: { address: byClass(className) }, ports: PORTS, node }));
    return namespace.running(name);
  }

  function inPod(command: string): Promise<string> {
    return namespace.exec('reads', ['sh', '-c', command]);
  }

  /** The tree with inode numbers: a rewritten file is another file. */
  function shown(): Promise<string> {
    return inPod(`
      cd /listeners/address
      readlink default-address
      for file in $(find default-address/ -type f | sort); do echo $file $(stat -c %i $file) $(cat $file); done
    `);
  }

  function addresses(): { readonly type: 'InternalIP' | 'Hostname'; readonly address: string }[] {
    return [...own.map((address) => ({ type: 'InternalIP' as const, address })), { type: 'Hostname', address: node }];
  }

  async function driverPod(): Promise<SystemPod> {
    const found = (await systemPods(cluster, 'node')).find(({ spec }) => spec.nodeName === node);
    assert.ok(found, `no driver on ${node}`);
    return found;
  }

  function driverProcess(): number {
    const [pid, ...others] = processesWithArgument(`--node-name=${node}`);
    assert.ok(pid !== undefined && others.length === 0, `drivers of ${node}: ${[pid, ...others].join(', ')}`);
    return pid;
  }

  function volumeFolders(uid: string): readonly string[] {
    const { kubeletDir = '' } = cluster.nodes.find(({ name }) => name === node) ?? {};
    try {
      return readdirSync(`${kubeletDir}/pods/${uid}/volumes/kubernetes.io~csi`);
    } catch {
      return [];
    }
  }
});

function restartsOf({ status }: SystemPod): number {
  return (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}
