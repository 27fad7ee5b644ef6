/** The table from which the controller's event handlers are built: which change enqueues which keys. */
import { isDeepStrictEqual } from 'node:util';
import type { Cache, Change, KeyString } from '../kube/contract.ts';
import { keyOf } from '../kube/key.ts';
import type { KubeObject, Node, PersistentVolume, Pod, Service } from '../kube/objects.ts';
import type { Listener, PodListeners } from '../api/listeners/index.ts';
import { podListenersName } from '../api/listeners/names.ts';
import type { ClusterCaches, EndpointNodes, ProvisionCaches } from './cluster/caches.ts';
import { claimsOf, requestKeyOf } from './cluster/starting-pods.ts';
import { pinnedNodesOf, runsDriver, targetOf } from './cluster/volumes.ts';
import { concernsMounts } from './mounts/mount-plan.ts';

/**
 * Queues that a change may enqueue into. `mount`: one pod's mounts. `waiting`: a waiting mount may share its volume with an
 * ending pod. `labels`: a pod may have lost its labels. `volume`: it may be pinned to a node. `released`: it may be deleted.
 */
export type EnqueuedQueues = (typeof COLUMNS)[number];

const COLUMNS = ['listener', 'mount', 'waiting', 'labels', 'volume', 'claim', 'released'] as const;

/** Enqueues a key in each queue. */
export type Wake = Readonly<Record<EnqueuedQueues, (key: KeyString) => void>>;

/** One row: the keys that a change of one kind enqueues, by column. */
type Row<T> = { readonly [column in EnqueuedQueues]?: (change: Change<T>) => readonly KeyString[] };

/**
 * Enqueues the keys of each change from now on, and once those of existing objects. Returns a function to stop. A controller's
 * own status writes never trigger another reconcile: rows leave out their echo, except if other objects depend on it.
 * `provision`: undefined if other programs create volumes.
 */
export function watchHandlers(caches: ClusterCaches, provision: ProvisionCaches | undefined, wake: Wake): () => void {
  const { classes, listeners, services, otherServices, endpoints, nodes, volumes, podListeners, startingPods } = caches;
  const ofClass = (name = ''): readonly KeyString[] => listeners.by('class', name).map(keyOf);
  // Their conditions list the existing classes.
  const withoutClass = (): readonly KeyString[] =>
    [...listeners.values()].filter(({ spec }) => classes.get(spec.className ?? '') === undefined).map(keyOf);
  const volumesOf = (listener: KeyString): readonly PersistentVolume[] => volumes.by('listener', listener);
  const mountsOf = (of: readonly PersistentVolume[]): readonly KeyString[] =>
    of.flatMap(({ spec }) => [
      ...podListeners.by('handle', spec?.csi?.volumeHandle ?? '').map(keyOf),
      ...startingPods.by('claim', `${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`).map(requestKeyOf),
    ]);
  const sharing = ({ spec }: PodListeners): readonly KeyString[] =>
    Object.keys(spec.mounts ?? {}).flatMap((handle) => podListeners.by('handle', handle).map(keyOf));
  const claimsBy = (index: string, value: string): readonly KeyString[] => provision?.claims.by(index, value).map(keyOf) ?? [];
  // No watch reports that a quota, a policy or a webhook now allows what it refused. A new mount must not get the old refusal.
  const refusedIn = (of: readonly PersistentVolume[]): readonly KeyString[] =>
    of.flatMap(listenerOf).filter((key) => isRefused(listeners.get(key)));
  const on = (node: KubeObject): readonly PersistentVolume[] => volumes.by('node', keyOf(node));

  const table = [
    row(classes, {
      listener: ({ type, object }) => [...ofClass(object.metadata.name), ...(type === 'modified' ? [] : withoutClass())],
      mount: ({ object }) => mountsOf(ofClass(object.metadata.name).flatMap(volumesOf)),
      volume: () => pinned([...volumes.values()]),
      claim: ({ object }) => {
        const name = keyOf(object);
        return [...claimsBy('class', name), ...ofClass(name).flatMap((listener) => claimsBy('listener', listener))];
      },
    }),
    row(listeners, {
      listener: (change) => (listeners.isEcho(change) ? [] : [keyOf(change.object)]),
      mount: (change) => (concernsMounts(change) ? mountsOf(volumesOf(keyOf(change.object))) : []),
      volume: (change) => (hasOtherClass(change) ? pinned(volumesOf(keyOf(change.object))) : []),
      claim: (change) => (hasOtherClass(change) ? claimsBy('listener', keyOf(change.object)) : []),
    }),
    // A Service has the name of its Listener.
    row(services, { listener: ({ object }) => [keyOf(object)], mount: ({ object }) => mountsOf(volumesOf(keyOf(object))) }),
    row(otherServices, {
      listener: (change) => (hasOtherStanding(change) && listeners.get(keyOf(change.object)) !== undefined ? [keyOf(change.object)] : []),
    }),
    row(endpoints, {
      listener: (change) => (hasOtherNodes(change) ? [change.object.service] : []),
      labels: (change) => (listeners.get(change.object.service) === undefined ? [] : requestsOfGone(change)),
    }),
    row(nodes, {
      listener: (change) =>
        hasMoved(change) ? [...on(change.object).flatMap(listenerOf), ...servicesOn(endpoints, keyOf(change.object))] : [],
      mount: (change) => (hasMoved(change) ? podListeners.by('node', keyOf(change.object)).map(keyOf) : []),
      volume: (change) => (hasMoved(change) ? on(change.object).map(keyOf) : []),
      // Claims for which it was selected, and claims that accept any node.
      claim: (change) => (isMovedDriver(change) ? [keyOf(change.object), ''].flatMap((node) => claimsBy('node', node)) : []),
    }),
    row(volumes, {
      listener: ({ object }) => listenerOf(object),
      mount: ({ object }) => mountsOf([object]),
      volume: ({ object }) => [keyOf(object)],
      claim: ({ object }) => claimOf(object),
      released: ({ object }) => [keyOf(object)],
    }),
    row(startingPods, {
      listener: (change) => (hasMovedOn(change) ? refusedIn(claimsOf(change.object).flatMap((claim) => volumes.by('claim', claim))) : []),
      mount: (change) => (hasMovedOn(change) ? [requestKeyOf(change.object)] : []),
      waiting: (change) => (hasMovedOn(change) ? [requestKeyOf(change.object)] : []),
      // Events of the pod report problems of its claims.
      claim: (change) => (hasMovedOn(change) ? claimsOf(change.object) : []),
    }),
    row(podListeners, {
      listener: (change) => refusedIn(newHandles(change).flatMap((handle) => volumes.by('handle', handle))),
      mount: (change) => (podListeners.isEcho(change) ? [] : [keyOf(change.object)]),
      // Another one of those that wait for the same volume may be the first now.
      waiting: ({ object }) => [keyOf(object), ...sharing(object)],
    }),
  ];

  if (provision !== undefined) {
    table.push(
      row(provision.claims, { claim: ({ object }) => [keyOf(object)] }),
      row(provision.storageClasses, { claim: ({ object }) => claimsBy('storage-class', keyOf(object)) }),
    );
  }

  const stops = table.map((connect) => connect(wake));
  for (const listener of listeners.values()) wake.listener(keyOf(listener));
  for (const request of podListeners.values()) {
    wake.mount(keyOf(request));
    wake.waiting(keyOf(request));
  }
  for (const pod of startingPods.values()) wake.mount(requestKeyOf(pod));
  for (const volume of volumes.values()) {
    wake.volume(keyOf(volume));
    wake.released(keyOf(volume));
  }
  for (const claim of provision?.claims.values() ?? []) wake.claim(keyOf(claim));
  return () => {
    for (const stop of stops) stop();
  };
}

function row<T extends KubeObject>(cache: Cache<T>, columns: Row<T>): (wake: Wake) => () => void {
  return (wake) =>
    cache.onChange((change) => {
      for (const column of COLUMNS) for (const key of columns[column]?.(change) ?? []) wake[column](key);
    });
}

/** Key of the Listener that a volume belongs to. */
function listenerOf(volume: PersistentVolume): readonly KeyString[] {
  const target = targetOf(volume);
  return target === undefined ? [] : [`${target.namespace}/${target.name}`];
}

function claimOf({ spec }: PersistentVolume): readonly KeyString[] {
  const { namespace, name } = spec?.claimRef ?? {};
  return namespace === undefined || name === undefined ? [] : [`${namespace}/${name}`];
}

function pinned(of: readonly PersistentVolume[]): readonly KeyString[] {
  return of.filter((volume) => pinnedNodesOf(volume).length > 0).map(keyOf);
}

function servicesOn(endpoints: Cache<EndpointNodes>, node: string): readonly KeyString[] {
  return [...endpoints.values()].filter(({ nodes }) => nodes.includes(node)).map(({ service }) => service);
}

function hasOtherClass({ object, previous }: Change<Listener>): boolean {
  return previous?.spec.className !== object.spec.className;
}

/** Whether the change affects if the Service is an obstacle for a Listener. */
function hasOtherStanding({ object, previous }: Change<Service>): boolean {
  const standing = ({ metadata: { ownerReferences, deletionTimestamp, finalizers } }: Service): unknown => [
    ownerReferences,
    deletionTimestamp,
    finalizers,
  ];
  return previous === undefined || !isDeepStrictEqual(standing(previous), standing(object));
}

/** Pods that are not ready matter only if no pod is. */
function hasOtherNodes({ object, previous }: Change<EndpointNodes>): boolean {
  if (previous === undefined || previous.nodes.join() !== object.nodes.join()) return true;
  return object.nodes.length === 0 && previous.unreadyPods.join() !== object.unreadyPods.join();
}

function isRefused(listener: Listener | undefined): boolean {
  return (listener?.status?.conditions ?? []).some(({ type, reason }) => type === 'Accepted' && reason === 'ServiceRejected');
}

/** Volume handles that this change requested. */
function newHandles({ type, object, previous }: Change<PodListeners>): readonly string[] {
  if (type === 'deleted') return [];
  return Object.keys(object.spec.mounts ?? {}).filter((handle) => previous?.spec.mounts?.[handle] === undefined);
}

/** Keys of the PodListeners of pods that are no longer endpoints of a Service. */
function requestsOfGone({ type, object, previous }: Change<EndpointNodes>): readonly KeyString[] {
  const [before, after] = type === 'deleted' ? [object.podUids, []] : [previous?.podUids ?? [], object.podUids];
  const [namespace = ''] = object.service.split('/');
  const left = new Set(after);
  return before.filter((uid) => !left.has(uid)).map((uid) => `${namespace}/${podListenersName(uid)}`);
}

/** Whether a pod is new, got its node, or is being deleted. */
function hasMovedOn({ type, object, previous }: Change<Pod>): boolean {
  const isPlaced = previous?.spec?.nodeName !== object.spec?.nodeName;
  const isEnding = previous?.metadata.deletionTimestamp !== object.metadata.deletionTimestamp;
  return type === 'added' || (type === 'modified' && (isPlaced || isEnding));
}

/** Kubelets report every few seconds; only changes of addresses or existence matter. */
function hasMoved({ type, object, previous }: Change<Node>): boolean {
  return type !== 'modified' || JSON.stringify(previous?.status) !== JSON.stringify(object.status);
}

/** Whether the driver was added to or removed from a node, with or without the node. */
function isMovedDriver({ type, object, previous }: Change<Node>): boolean {
  return type !== 'modified' || previous === undefined || runsDriver(previous) !== runsDriver(object);
}
