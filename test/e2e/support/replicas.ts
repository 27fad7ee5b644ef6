/** Replicas of StatefulSets as clients know them: by the address that each received. */
import type { PodListener } from '../../../src/api/listeners/index.ts';
import type { KubeObject, PersistentVolume, Pod } from '../../../src/kube/objects.ts';
import { eventually, type Cluster } from '../../harness/index.ts';
import { API, pod } from './manifests.ts';
import type { Namespace, RunningPod } from './namespace.ts';

/** Where a replica runs and the address that it received, for comparing before and after. */
export interface Whereabouts {
  readonly node: string;
  readonly listenerUid: string;
  readonly addresses: readonly string[];
}

/** The volume of every replica in these tests. */
export const VOLUME = 'address';

/** A replica's Listener is called like its claim. */
export function listenerOf(replica: string): string {
  return `${VOLUME}-${replica}`;
}

/** Waits until a replica runs that is not the one given. */
export function runsAnew(namespace: Namespace, former: RunningPod): Promise<RunningPod> {
  const name = former.metadata.name ?? '';
  return namespace.until<RunningPod>(
    { apiVersion: 'v1', kind: 'Pod', name },
    'to run again',
    ({ metadata, status }) => metadata.uid !== former.metadata.uid && !('deletionTimestamp' in metadata) && status?.phase === 'Running',
    120_000,
  );
}

/** Waits until a pod is there that no node may run at present. */
export async function untilWaits(namespace: Namespace, name: string): Promise<void> {
  await namespace.until<Pod>({ apiVersion: 'v1', kind: 'Pod', name }, 'to wait for a node', isUnschedulable);
}

/** Waits until the scheduler, too, knows that a node takes no pods: until it leaves a pod for that node where it is. */
export async function untilCordoned(namespace: Namespace, node: string): Promise<void> {
  const probe = { apiVersion: 'v1', kind: 'Pod', name: 'probe' };
  await eventually(`no pod to come to ${node}`, async () => {
    await namespace.create(pod(probe.name, { node }));
    const seen = await namespace.until<Pod>(probe, 'to be looked at', (each) => each.spec?.nodeName !== undefined || isUnschedulable(each));
    await namespace.remove(probe.apiVersion, probe.kind, probe.name);
    await eventually('the probe to be gone', async () => (await namespace.get(probe.apiVersion, probe.kind, probe.name)) === undefined);
    return isUnschedulable(seen);
  });
}

function isUnschedulable({ metadata, spec, status }: Pod): boolean {
  return !('deletionTimestamp' in metadata) && spec?.nodeName === undefined && JSON.stringify(status).includes('"Unschedulable"');
}

/** The addresses that the running replica received; its files and its Listener agree, or this fails. */
export async function whereabouts(namespace: Namespace, replica: string): Promise<Whereabouts> {
  const [running] = await namespace.running(replica);
  const requests = await namespace.podListeners(replica);
  const entry = requests.spec.listeners[VOLUME];
  const addresses = addressesOf(entry);
  if (running === undefined || entry === undefined || addresses.length === 0) {
    throw new Error(`${replica} received no address: ${JSON.stringify(requests.spec)}`);
  }
  const shown = await namespace.exec(replica, ['sh', '-c', `cd /listeners/${VOLUME}/default-address; echo $(cat address):$(cat ports/*)`]);
  if (shown.trim() !== addresses[0]) throw new Error(`${replica} reads ${shown.trim()}, and its PodListeners say ${addresses[0]}`);
  return { node: running.spec.nodeName, listenerUid: entry.listenerUid ?? '', addresses };
}

/** `ADDRESS:PORT` for every address of an entry or a status. */
export function addressesOf(of: Pick<PodListener, 'ingressAddresses'> | null | undefined): readonly string[] {
  return (of?.ingressAddresses ?? []).flatMap(({ address, ports }) => Object.values(ports).map((port) => `${address}:${port}`));
}

/** Waits until nothing of ours is left that existed because of a namespace, or nothing of these names. */
export async function untilCollected(
  cluster: Cluster,
  namespace: string,
  options: { readonly named?: readonly string[]; readonly timeoutMs?: number } = {},
): Promise<void> {
  const { named, timeoutMs = 120_000 } = options;
  await eventually(
    'everything to be collected',
    async () => {
      const left = (await leftIn(cluster, namespace)).filter((path) => named === undefined || named.includes(path.split('/')[1] ?? ''));
      if (left.length > 0) throw new Error(`${left.length} objects are left, such as ${left.slice(0, 8).join(', ')}`);
      return true;
    },
    { timeoutMs, everyMs: 250 },
  );
}

async function leftIn(cluster: Cluster, namespace: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [root, plural] of kinds) {
    const { items } = await cluster.api.get<{ readonly items: readonly KubeObject[] }>(`${root}/namespaces/${namespace}/${plural}`);
    found.push(...items.map(({ metadata }) => `${plural}/${metadata.name}`));
  }
  const { items } = await cluster.api.get<{ readonly items: readonly PersistentVolume[] }>('/api/v1/persistentvolumes');
  const volumes = items.filter(({ spec }) => spec?.claimRef?.namespace === namespace);
  return [...found, ...volumes.map(({ metadata }) => `persistentvolumes/${metadata.name}`)];
}

const kinds: readonly (readonly [root: string, plural: string])[] = [
  ['/api/v1', 'pods'],
  ['/api/v1', 'persistentvolumeclaims'],
  ['/api/v1', 'services'],
  [`/apis/${API}`, 'listeners'],
  [`/apis/${API}`, 'podlisteners'],
];
