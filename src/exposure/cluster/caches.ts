/** The controller's caches. Each kind is reduced to the fields that a reconcile reads. */
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

/** From one EndpointSlice: the nodes with an endpoint that gets traffic of the Service. */
export interface EndpointNodes extends KubeObject {
  readonly service: string;
  readonly nodes: readonly string[];
  /** Names of running pods that are not ready and so get no traffic. */
  readonly unreadyPods: readonly string[];
  /** UIDs of all pods, ready or not. */
  readonly podUids: readonly string[];
}

/** Caches of every replica: enough to answer CSI calls. */
export interface PolicyCaches {
  readonly classes: Cache<ListenerClass>;
  /** Index `class`: by spec.className. */
  readonly listeners: WriteThroughCache<Listener>;
}

/** Additional caches of the leader. */
export interface ClusterCaches extends PolicyCaches {
  readonly services: WriteThroughCache<Service>;
  /**
   * Metadata of Services without our label. They may occupy the name of a Listener's Service, and their deletion is noticed by
   * watch. Costs some hundred bytes for each Service of the cluster, and Services change rarely.
   */
  readonly otherServices: Cache<Service>;
  /** Index `service`: by key of the Service. */
  readonly endpoints: Cache<EndpointNodes>;
  readonly nodes: Cache<Node>;
  /** Volumes of this driver only. Indexes: `handle`, `claim` and `listener` (keys), `node` (pinned to). */
  readonly volumes: WriteThroughCache<PersistentVolume>;
  /** Indexes: `handle` (of a mount), `node`. */
  readonly podListeners: WriteThroughCache<PodListeners>;
  /**
   * Pods that mount claims and have not started, reduced to these fields. Indexes: `claim` (key), `request` (key of the
   * PodListeners).
   */
  readonly startingPods: Cache<Pod>;
}

/** Additional caches of the leader when it provisions volumes itself. */
export interface ProvisionCaches {
  /**
   * Unbound claims of any class, and bound claims that name a Listener or a class, reduced to these fields. Indexes of unbound
   * claims: `class` and `listener` (key) that they name, `node` (selected), `storage-class`.
   */
  readonly claims: WriteThroughCache<PersistentVolumeClaim>;
  readonly storageClasses: Cache<StorageClass>;
}

/**
 * Field selector that matches every object, but only with our definition: under an earlier one the API server refuses this field.
 * Without it, a watch started before the definition changed would deliver objects without the field, and no later event would add
 * it.
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
      // The EndpointSlice controller copies the labels of the Service.
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

/** Drops long fields that are never read: managed fields, and annotations such as kubectl's copy of the object. */
function withoutManagement<T extends KubeObject>(object: T): T {
  const { managedFields: _managedFields, annotations: _annotations, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Any user can set the label. A Service without a Listener as owner only occupies the name. */
function listenersService(service: Service): Service {
  const { managedFields: _managedFields, ...metadata } = service.metadata;
  const isListeners = metadata.ownerReferences?.some(({ kind }) => kind === listeners.kind) === true;
  return isListeners ? { ...service, metadata } : standingService(service);
}

/** Reduces a Service to what decides whether a Listener can adopt it. */
function standingService({ metadata: { ownerReferences, deletionTimestamp, finalizers, ...metadata } }: Service): Service {
  return {
    metadata: {
      ...identityOf(metadata),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp, finalizers: finalizers ?? [] }),
    },
  };
}

/** Keeps one annotation: the provisioner. */
function ownVolume(volume: PersistentVolume): PersistentVolume | undefined {
  if (volume.spec?.csi?.driver !== DRIVER_NAME) return undefined;
  const { metadata, ...rest } = withoutManagement(volume);
  return { ...rest, metadata: { ...metadata, annotations: only(volume.metadata.annotations ?? {}, [PROVISIONED_BY]) } };
}

/** Reduces a node to its addresses and whether the driver runs there. */
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
