/** What the controller keeps of the cluster, each kind cut down to what a reconcile reads. */
import {
  listenerClasses,
  listeners,
  podListeners,
  type Listener,
  type ListenerClass,
  type PodListeners,
} from '../../api/listeners/index.ts';
import {
  DRIVER_NAME,
  LISTENER_CLASS_ANNOTATION,
  LISTENER_NAME_ANNOTATION,
  LISTENER_NAME_LABEL,
  TOPOLOGY_KEY,
} from '../../api/listeners/names.ts';
import type { Cache, KubeClient, StartInformer } from '../../kube/contract.ts';
import { WriteThroughCache } from '../../kube/watch/write-through-cache.ts';
import type {
  EndpointSlice,
  KubeObject,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Service,
  StorageClass,
} from '../../kube/objects.ts';
import { endpointSlices, nodes, persistentVolumeClaims, persistentVolumes, pods, services, storageClasses } from '../../kube/resource.ts';
import { identityOf } from './identity.ts';
import { isBound, keptClaim, only, selectedNodeOf, storageClassOf } from './claims.ts';
import { readableClass, readableListener } from './readable.ts';
import { claimsOf, requestKeyOf, startingPod, STARTING_PODS } from './starting-pods.ts';
import { PROVISIONED_BY, pinnedNodesOf, targetOf } from './volumes.ts';

/** The nodes with an endpoint of a Service that gets traffic, from one EndpointSlice. */
export interface EndpointNodes extends KubeObject {
  readonly service: string;
  readonly nodes: readonly string[];
  /** Pods that run, but are not ready and so get no traffic. */
  readonly unreadyPods: readonly string[];
  /** Uids of all pods, ready or not. */
  readonly podUids: readonly string[];
}

/** What every replica keeps: enough to answer CSI calls. */
export interface PolicyCaches {
  readonly classes: Cache<ListenerClass>;
  /** Index `class`: by spec.className. */
  readonly listeners: WriteThroughCache<Listener>;
}

/** What the leader keeps besides. */
export interface ClusterCaches extends PolicyCaches {
  readonly services: WriteThroughCache<Service>;
  /**
   * Services without our label, metadata only: those of others, which may stand where a Listener's should be. Their end is
   * noticed without asking. (It costs some hundred bytes for each Service of the cluster, and Services change rarely.)
   */
  readonly otherServices: Cache<Service>;
  /** Index `service`: by key of the Service. */
  readonly endpoints: Cache<EndpointNodes>;
  readonly nodes: Cache<Node>;
  /** Only volumes of this driver. Indexes: `handle`, `claim` and `listener` (keys), `node` (pinned to). */
  readonly volumes: WriteThroughCache<PersistentVolume>;
  /** Indexes: `handle` (of a mount), `node`. */
  readonly podListeners: WriteThroughCache<PodListeners>;
  /** Pods that mount claims and have not started, cut down to that. Indexes: `claim` (key), `request` (key of the PodListeners). */
  readonly startingPods: Cache<Pod>;
}

/** What the leader keeps besides where it makes volumes itself. */
export interface ProvisionCaches {
  /**
   * Claims of any class that are not bound, and bound ones that name a Listener or a class, cut down to that. Indexes, of the unbound: `class`
   * and `listener` (key) that they name, `node` (selected), `storage-class`.
   */
  readonly claims: WriteThroughCache<PersistentVolumeClaim>;
  readonly storageClasses: Cache<StorageClass>;
}

/**
 * Selects every object, and only from an API server that serves our definition: by an earlier one, without this field, it refuses. A watch
 * that began before the definition changed would go on without the field for a while, and no later event would bring it.
 */
const AS_DEFINED_HERE = 'spec.nodeName!=-';
const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

export function startPolicyCaches(start: StartInformer, client: KubeClient, signal: AbortSignal): PolicyCaches {
  return {
    classes: start(client, listenerClasses, { signal, project: (found) => readableClass(withoutManagement(found)) }),
    listeners: new WriteThroughCache(
      start(client, listeners, {
        signal,
        project: (found) => readableListener(withoutManagement(found)),
        indexes: { class: ({ spec }) => (typeof spec.className === 'string' ? [spec.className] : []) },
      }),
      ({ status, ...others }) => ({ own: status, others }),
    ),
  };
}

export function startClusterCaches(start: StartInformer, client: KubeClient, policy: PolicyCaches, signal: AbortSignal): ClusterCaches {
  return {
    ...policy,
    services: new WriteThroughCache(start(client, services, { signal, labelSelector: LISTENER_NAME_LABEL, project: listenersService })),
    otherServices: start(client, services, { signal, labelSelector: `!${LISTENER_NAME_LABEL}`, project: standingService }),
    endpoints: start<EndpointSlice, EndpointNodes>(client, endpointSlices, {
      signal,
      // The EndpointSlice controller copies a Service's labels.
      labelSelector: `${LISTENER_NAME_LABEL},${SERVICE_NAME_LABEL}`,
      project: endpointNodesOf,
      indexes: { service: ({ service }) => [service] },
    }),
    nodes: start(client, nodes, { signal, project: whereabouts }),
    volumes: new WriteThroughCache(
      start(client, persistentVolumes, {
        signal,
        project: ownVolume,
        indexes: {
          handle: ({ spec }) => (spec?.csi === undefined ? [] : [spec.csi.volumeHandle]),
          listener: (volume) => {
            const target = targetOf(volume);
            return target === undefined ? [] : [`${target.namespace}/${target.name}`];
          },
          claim: (volume) => {
            const { namespace, name } = volume.spec?.claimRef ?? {};
            return name === undefined ? [] : [`${namespace}/${name}`];
          },
          node: pinnedNodesOf,
        },
      }),
    ),
    startingPods: start(client, pods, {
      signal,
      fieldSelector: STARTING_PODS,
      project: startingPod,
      indexes: { claim: claimsOf, request: (pod) => [requestKeyOf(pod)] },
    }),
    podListeners: new WriteThroughCache(
      start(client, podListeners, {
        signal,
        fieldSelector: AS_DEFINED_HERE,
        project: withoutManagement,
        indexes: {
          handle: ({ spec }) => Object.keys(spec.mounts ?? {}),
          node: ({ spec }) => (spec.nodeName === undefined ? [] : [spec.nodeName]),
        },
      }),
      ({ status, spec: { listeners: entries, ...asked }, ...others }) => ({ own: [entries, status], others: { ...others, asked } }),
    ),
  };
}

export function startProvisionCaches(start: StartInformer, client: KubeClient, signal: AbortSignal): ProvisionCaches {
  return {
    storageClasses: start(client, storageClasses, { signal, project: withoutManagement }),
    claims: new WriteThroughCache(
      start(client, persistentVolumeClaims, {
        signal,
        project: keptClaim,
        indexes: {
          class: ofUnbound((claim) => annotationOf(claim, LISTENER_CLASS_ANNOTATION)),
          listener: ofUnbound((claim) =>
            annotationOf(claim, LISTENER_NAME_ANNOTATION).map((name) => `${claim.metadata.namespace}/${name}`),
          ),
          node: ofUnbound((claim) => [selectedNodeOf(claim) ?? '']),
          'storage-class': ofUnbound((claim) => [storageClassOf(claim)]),
        },
      }),
    ),
  };
}

function ofUnbound(index: (claim: PersistentVolumeClaim) => readonly string[]): (claim: PersistentVolumeClaim) => readonly string[] {
  return (claim) => (isBound(claim) ? [] : index(claim));
}

function annotationOf({ metadata }: KubeObject, name: string): readonly string[] {
  const value = metadata.annotations?.[name];
  return value === undefined ? [] : [value];
}

/** Drops what is long and never read: field managers, and annotations such as kubectl's copy of the object. */
function withoutManagement<T extends KubeObject>(object: T): T {
  const { managedFields: _managedFields, annotations: _annotations, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Anyone can write the label: without the owner a Service only stands in the way. */
function listenersService(service: Service): Service {
  const { managedFields: _managedFields, ...metadata } = service.metadata;
  const isListeners = metadata.ownerReferences?.some(({ kind }) => kind === listeners.kind) === true;
  return isListeners ? { ...service, metadata } : standingService(service);
}

/** What decides whether it can be a Listener's. */
function standingService({ metadata: { ownerReferences, deletionTimestamp, finalizers, ...metadata } }: Service): Service {
  return {
    metadata: {
      ...identityOf(metadata),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp, finalizers: finalizers ?? [] }),
    },
  };
}

/** Of annotations only who made it. */
function ownVolume(volume: PersistentVolume): PersistentVolume | undefined {
  if (volume.spec?.csi?.driver !== DRIVER_NAME) return undefined;
  const { metadata, ...rest } = withoutManagement(volume);
  return { ...rest, metadata: { ...metadata, annotations: only(volume.metadata.annotations ?? {}, [PROVISIONED_BY]) } };
}

/** Its addresses, and whether the driver runs there. */
function whereabouts(node: Node): Node {
  const { addresses } = node.status ?? {};
  const metadata = { ...identityOf(node.metadata), labels: only(node.metadata.labels ?? {}, [TOPOLOGY_KEY]) };
  return { metadata, ...(addresses === undefined ? {} : { status: { addresses } }) };
}

function endpointNodesOf(slice: EndpointSlice): EndpointNodes {
  const { namespace = '' } = slice.metadata;
  const endpoints = slice.endpoints ?? [];
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false);
  const unready = endpoints.filter(({ conditions }) => conditions?.ready === false && conditions.terminating !== true);
  return {
    metadata: identityOf(slice.metadata),
    service: `${namespace}/${slice.metadata.labels?.[SERVICE_NAME_LABEL] ?? ''}`,
    nodes: [...new Set(ready.flatMap(({ nodeName }) => (nodeName === undefined ? [] : [nodeName])))].sort(),
    unreadyPods: unready.flatMap(({ targetRef }) => targetRef?.name ?? []).sort(),
    podUids: endpoints.flatMap(({ targetRef }) => targetRef?.uid ?? []),
  };
}
