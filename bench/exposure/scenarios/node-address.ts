/** How long a pod reads an address that is no longer its node's. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenerClasses } from '../../../src/api/listeners/index.ts';
import { persistentVolumeClaims, pods } from '../../../src/kube/resource.ts';
import type { Node, Pod } from '../../../src/kube/objects.ts';
import { byClass, listenerClass, statefulSet } from '../../../test/e2e/support/manifests.ts';
import { eventually, HarnessError } from '../../../test/harness/index.ts';
import type { Bench } from '../bench.ts';
import { secondsSince } from '../../cluster/load.ts';
import { statefulSets, Workspace } from '../workspace.ts';
import { percentile } from '../../statistics.ts';

/** Interval between reads of the file in milliseconds: far less than the measured times, and no load worth mentioning. */
const LOOK_EVERY = 2;
const CHANGE_TIMEOUT = 60_000;

export async function measureNodeAddress(bench: Bench): Promise<void> {
  const { client, cluster, sizes, record, log } = bench;
  const workspace = await Workspace.open(bench, 'address');
  await client.create(listenerClasses, listenerClass(workspace.name, { serviceType: 'NodePort', pinnedNodePorts: true }));
  const { node, volume } = await startPod(bench, workspace);
  const path = `/api/v1/nodes/${node}`;
  const before = (await cluster.api.get<Node>(path)).status?.addresses ?? [];
  const seconds: number[] = [];
  try {
    for (let change = 1; change <= sizes.addressChanges; change++) {
      // RFC 5737, TEST-NET-3: an unused address. It is added beside the others, at which the node still answers.
      const address = `203.0.113.${(change % 254) + 1}`;
      const start = performance.now();
      const written = cluster.api.patch(`${path}/status`, { status: { addresses: [...before, { type: 'ExternalIP', address }] } });
      await Promise.all([written, untilFileHolds(volume, address)]);
      seconds.push(secondsSince(start));
      record('address-p99', secondsSince(start));
      record('address-p50', secondsSince(start));
      // The volume shows the former address for a moment too. The next change is to meet it at rest.
      await eventually('the former address to leave the volume', () => readdirSync(`${volume}/addresses`).length === 1);
    }
    const [p50, p99] = [percentile(seconds, 0.5), percentile(seconds, 0.99)];
    log(`${seconds.length} changes of a Node's address: p50 ${p50.toFixed(3)} s, p99 ${p99.toFixed(3)} s`);
  } finally {
    await cluster.api.patch(`${path}/status`, { status: { addresses: before } });
  }
  await workspace.close();
}

/** A pod with a listener volume: its node, and where that node keeps the volume. */
async function startPod(bench: Bench, workspace: Workspace): Promise<{ readonly node: string; readonly volume: string }> {
  const { client, cluster } = bench;
  const namespace = workspace.name;
  const manifest = statefulSet('web', 1, { listener: byClass(workspace.name) }, { ports: [{ name: 'http', containerPort: 8_080 }] });
  await client.create(statefulSets, { ...manifest, metadata: { ...manifest.metadata, namespace } });
  const pod = await eventually<Pod | undefined>(
    'the pod to run',
    async () => {
      const found = await client.find(pods, { namespace, name: 'web-0' });
      return found?.status?.phase === 'Running' ? found : undefined;
    },
    { timeoutMs: 60_000 },
  );
  const claim = await client.get(persistentVolumeClaims, { namespace, name: 'listener-web-0' });
  const node = cluster.nodes.find(({ name }) => name === pod.spec?.nodeName);
  if (node === undefined) throw new Error(`the pod runs on ${pod.spec?.nodeName ?? 'no node'}, which is not a node of the cluster`);
  const folder = `${node.kubeletDir}/pods/${pod.metadata.uid}/volumes/kubernetes.io~csi`;
  return { node: node.name, volume: `${folder}/${claim.spec?.volumeName}/mount` };
}

async function untilFileHolds(volume: string, address: string): Promise<void> {
  const deadline = performance.now() + CHANGE_TIMEOUT;
  const file = `${volume}/default-address/address`;
  for (;;) {
    // A file that is missing for a moment would be a fault, and ends the scenario.
    const held = readFileSync(file, 'utf8');
    if (held === address) return;
    if (performance.now() > deadline) {
      throw new HarnessError('TIMED_OUT', `waited ${CHANGE_TIMEOUT / 1_000} s for ${address} in ${file}, which holds ${held}`);
    }
    await sleep(LOOK_EVERY);
  }
}
