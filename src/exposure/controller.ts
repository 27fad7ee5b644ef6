/** Exposure's controller: which change concerns which key, and who works on it. */
import type { EventRecorder, KeyString, KubeClient } from '../kube/contract.ts';
import type { Controller } from '../kube/controller/leadership.ts';
import { keyOf } from '../kube/key.ts';
import { WorkQueue } from '../work/queue.ts';
import type { Reconcile } from '../work/reconcile.ts';
import { askedToWait } from '../kube/errors.ts';
import type { Logger } from '../telemetry/log.ts';
import { reportResults, showQueues } from '../telemetry/queue-metrics.ts';
import type { ClusterCaches } from './cluster/caches.ts';
import { ListenerReconciler } from './listeners/listener-reconciler.ts';
import { pinnedNodesOf, targetOf } from './cluster/volumes.ts';
import { MountReconciler } from './mounts/mount-reconciler.ts';
import { createNodeLossReconciler } from './listeners/node-loss-reconciler.ts';
import type { PersistentVolume } from '../kube/objects.ts';

export interface ControllerOptions {
  readonly client: KubeClient;
  readonly caches: ClusterCaches;
  readonly events: EventRecorder;
  readonly clusterDomain: string;
  readonly log: Logger;
  /** Reconciles of one kind that run at once. */
  readonly concurrency: number;
}

/** A key that keeps failing is tried at most this rarely, in milliseconds. */
const BACKOFF = { first: 100, max: 60_000 };

/**
 * Starts once every cache is synced: a decision on half a picture could take an address away. Rejects when a cache is
 * stopped before.
 */
export async function startController(options: ControllerOptions): Promise<Controller> {
  const { caches, client, events, log } = options;
  await Promise.all(Object.values(caches).map((cache) => cache.synced));

  const queue = (name: string, reconcile: Reconcile): WorkQueue =>
    new WorkQueue({ name, reconcile, concurrency: options.concurrency, backoff: BACKOFF, askedToWait, onResult: reportResults(name, log) });
  const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
  const listeners = new ListenerReconciler({ client, caches, events, clusterDomain: options.clusterDomain, now });
  const mounts = new MountReconciler({ client, caches, events, clock: () => performance.now() });
  const queues = {
    listeners: queue('listeners', (key, signal) => listeners.reconcile(key, signal)),
    mounts: queue('mounts', (key, signal) => mounts.reconcile(key, signal)),
    'lost-nodes': queue('lost-nodes', createNodeLossReconciler({ client, caches, events })),
  };
  const stopWatching = connect(caches, {
    listener: (key) => queues.listeners.add(key),
    mount: (key) => queues.mounts.add(key),
    volume: (key) => queues['lost-nodes'].add(key),
  });
  const shown = showQueues(queues);

  return {
    async stop(deadlineMilliseconds) {
      stopWatching();
      await Promise.all(Object.values(queues).map((each) => each.stop(deadlineMilliseconds)));
      shown[Symbol.dispose]();
    },
  };
}

type Sinks = Readonly<Record<'listener' | 'mount' | 'volume', (key: KeyString) => void>>;

/**
 * | changed        | Listeners to look at               | pods' mounts to look at         | pinned volumes |
 * | -------------- | ---------------------------------- | ------------------------------- | -------------- |
 * | ListenerClass  | of the class                       |                                 | all            |
 * | Listener       | itself                             | of its volumes                  | its own        |
 * | Service        | of the same name                   |                                 |                |
 * | EndpointSlice  | of the Service's name              |                                 |                |
 * | Node           | pinned there, or endpoints there   | on the node                     | pinned there   |
 * | PersistentVolume | that it mounts                   | of its handle                   | itself         |
 * | PodListeners   |                                    | itself                          |                |
 *
 * Everything that exists at the start is looked at once.
 */
function connect(caches: ClusterCaches, to: Sinks): () => void {
  const mountsOf = (volumes: readonly PersistentVolume[]): void => {
    for (const volume of volumes) {
      for (const request of caches.podListeners.by('handle', volume.spec?.csi?.volumeHandle ?? '')) to.mount(keyOf(request));
    }
  };
  const volumesOf = (key: KeyString): readonly PersistentVolume[] => caches.volumes.by('listener', key);
  const subscriptions = [
    caches.classes.onChange(({ object }) => {
      for (const listener of caches.listeners.by('class', object.metadata.name ?? '')) {
        to.listener(keyOf(listener));
        mountsOf(volumesOf(keyOf(listener)));
      }
      for (const volume of caches.volumes.values()) if (pinnedNodesOf(volume).length > 0) to.volume(keyOf(volume));
    }),
    caches.listeners.onChange(({ object }) => {
      to.listener(keyOf(object));
      mountsOf(volumesOf(keyOf(object)));
    }),
    caches.services.onChange(({ object }) => to.listener(keyOf(object))),
    caches.endpoints.onChange(({ object, previous }) => {
      if (previous === undefined || previous.nodes.join() !== object.nodes.join()) to.listener(object.service);
    }),
    caches.nodes.onChange(({ type, object, previous }) => {
      // Kubelets report every few seconds; only a change of addresses, or of existence, concerns us.
      if (type === 'modified' && JSON.stringify(previous?.status) === JSON.stringify(object.status)) return;
      const name = keyOf(object);
      for (const volume of caches.volumes.by('node', name)) {
        to.volume(keyOf(volume));
        const target = targetOf(volume);
        if (target !== undefined) to.listener(`${target.namespace}/${target.name}`);
      }
      for (const slice of caches.endpoints.values()) if (slice.nodes.includes(name)) to.listener(slice.service);
      for (const request of caches.podListeners.by('node', name)) to.mount(keyOf(request));
    }),
    caches.volumes.onChange(({ object }) => {
      const target = targetOf(object);
      if (target !== undefined) to.listener(`${target.namespace}/${target.name}`);
      to.volume(keyOf(object));
      mountsOf([object]);
    }),
    caches.podListeners.onChange(({ object }) => to.mount(keyOf(object))),
  ];
  for (const key of caches.listeners.values()) to.listener(keyOf(key));
  for (const request of caches.podListeners.values()) to.mount(keyOf(request));
  for (const volume of caches.volumes.values()) to.volume(keyOf(volume));
  return () => {
    for (const stop of subscriptions) stop();
  };
}
