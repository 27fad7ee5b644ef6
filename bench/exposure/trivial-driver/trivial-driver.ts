/**
 * A storage driver that does nothing: what its claims cost is what Kubernetes itself costs for a claim. Volumes are made as soon as the
 * scheduler has chosen a node, for kube-controller-manager to bind; a mount is an empty folder, there before the answer. It runs within the
 * bench, beside the kubelets' folders, so nothing is spent on images, pods, leader election or permissions.
 */
import { createLogger } from '../../../src/telemetry/log.ts';
import { resource } from '../../../src/kube/resource.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { adminClient, type Ground } from '../../cluster/load.ts';
import { provision } from './provisioner.ts';
import { serveNode, type Mounts } from './node-plugin.ts';

/** Name of the CSIDriver, the StorageClass and its provisioner. */
export const TRIVIAL = 'trivial.bench';

const csiDrivers = resource<KubeObject & { readonly spec: object }>('storage.k8s.io/v1', 'CSIDriver', 'csidrivers', 'cluster');
const storageClasses = resource<KubeObject & Readonly<Record<string, unknown>>>(
  'storage.k8s.io/v1',
  'StorageClass',
  'storageclasses',
  'cluster',
);

export interface TrivialDriver extends AsyncDisposable {
  readonly mounts: Mounts;
}

/** Returns once every node's kubelet knows it. */
export async function startTrivialDriver({ cluster }: Ground): Promise<TrivialDriver> {
  await using cleanup = new AsyncDisposableStack();
  const client = cleanup.use(await adminClient(cluster));
  await client.apply(csiDrivers, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: TRIVIAL },
    spec: { attachRequired: false, podInfoOnMount: false, volumeLifecycleModes: ['Persistent'] },
  });
  await client.apply(storageClasses, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: TRIVIAL },
    provisioner: TRIVIAL,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  const mounts: Mounts = new Map();
  const log = createLogger({ level: 'error', component: 'trivial-driver' });
  for (const node of cluster.layout.nodes) cleanup.use(await serveNode({ driver: TRIVIAL, node, log, mounts }));
  const end = new AbortController();
  cleanup.defer(() => end.abort());
  await provision({ driver: TRIVIAL, client, signal: end.signal });
  const kept = cleanup.move();
  return { mounts, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
