/** Earshot as the chart installed it: its pods, its leader, and doing without its controllers for a while. */
import type { Pod } from '../../../src/kube/objects.ts';
import { eventually, type Cluster } from '../../harness/index.ts';

export const SYSTEM = 'earshot-system';
const DEPLOYMENT = `/apis/apps/v1/namespaces/${SYSTEM}/deployments/earshot-controller`;
const DAEMON_SET = `/apis/apps/v1/namespaces/${SYSTEM}/daemonsets/earshot-node`;
export const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM}/leases/earshot-controller`;

interface Counts {
  readonly metadata: { readonly generation: number };
  readonly spec: { readonly replicas?: number };
  readonly status: Readonly<Record<string, number | undefined>>;
}

interface Lease {
  readonly spec: { readonly holderIdentity?: string; readonly leaseDurationSeconds?: number };
}

/** A pod of the installation, with what tests ask of it. */
export interface SystemPod extends Pod {
  readonly spec: NonNullable<Pod['spec']> & { readonly nodeName: string };
  readonly status: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly containerStatuses?: readonly { readonly name: string; readonly ready: boolean; readonly restartCount: number }[];
  };
}

/** Pods of a part, without those that are going. */
export async function systemPods(cluster: Cluster, component: 'controller' | 'node'): Promise<readonly SystemPod[]> {
  return (await allPods(cluster, component)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

async function allPods(cluster: Cluster, component: 'controller' | 'node'): Promise<readonly SystemPod[]> {
  const path = `/api/v1/namespaces/${SYSTEM}/pods?labelSelector=${encodeURIComponent(`app.kubernetes.io/component=${component}`)}`;
  return (await cluster.api.get<{ readonly items: readonly SystemPod[] }>(path)).items;
}

/** Waits until the whole installation is as it should be: all replicas ready, a driver on each node, none going. */
export async function untilInstalled(cluster: Cluster, timeoutMs = 180_000): Promise<void> {
  await eventually(
    'all of Earshot to be ready',
    async () => {
      const [deployment, drivers] = await Promise.all([cluster.api.get<Counts>(DEPLOYMENT), cluster.api.get<Counts>(DAEMON_SET)]);
      if (!isObserved(deployment) || !isObserved(drivers)) return false;
      const { readyReplicas, replicas, updatedReplicas } = deployment.status;
      if ([readyReplicas, replicas, updatedReplicas].some((count = 0) => count !== deployment.spec.replicas)) {
        throw new Error(`controllers: ${JSON.stringify(deployment.status)}`);
      }
      const { desiredNumberScheduled, numberReady, updatedNumberScheduled } = drivers.status;
      if ([desiredNumberScheduled, numberReady, updatedNumberScheduled].some((count = 0) => count !== cluster.nodes.length)) {
        throw new Error(`drivers: ${JSON.stringify(drivers.status)}`);
      }
      return true;
    },
    { timeoutMs },
  );
}

function isObserved({ metadata, status }: Counts): boolean {
  return metadata.generation === status['observedGeneration'];
}

/** The leader by the Lease; undefined without one. */
export async function leaderOf(cluster: Cluster): Promise<string | undefined> {
  const holder = (await cluster.api.find<Lease>(LEASE))?.spec.holderIdentity;
  return holder === '' ? undefined : holder;
}

/** How long the Lease of the present leader stands without a renewal before another may take it, in milliseconds. */
export async function leaseDuration(cluster: Cluster): Promise<number> {
  const { spec } = await cluster.api.get<Lease>(LEASE);
  return (spec.leaseDurationSeconds ?? 0) * 1_000;
}

/** Takes the installed controllers away, and brings back as many as there were when it is disposed of. */
export async function withoutControllers(cluster: Cluster): Promise<AsyncDisposable> {
  const {
    spec: { replicas = 1 },
  } = await cluster.api.get<Counts>(DEPLOYMENT);
  const scale = (to: number): Promise<unknown> => cluster.api.patch(DEPLOYMENT, { spec: { replicas: to } });
  await scale(0);
  // One that is going may still write.
  await eventually('the controllers to end', async () => (await allPods(cluster, 'controller')).length === 0, { timeoutMs: 90_000 });
  return {
    async [Symbol.asyncDispose]() {
      await scale(replicas);
      await untilInstalled(cluster);
    },
  };
}
