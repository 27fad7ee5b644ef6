/**
 * Decides what a pod's mount of a listener volume means, from the pod, its claim and the volume. Pure. A node requests the mount,
 * and it is trusted only for its own pods. So nothing in the request is trusted until the pod, the claim and the volume, which
 * the node cannot write, agree.
 */
import { isDeepStrictEqual } from 'node:util';
import { podListenersName } from '../../api/listeners/names.ts';
import {
  listeners,
  podListeners,
  type Listener,
  type ListenerPort,
  type PodListener,
  type PodListeners,
  type PreferredAddressType,
} from '../../api/listeners/index.ts';
import type { Container, Node, OwnerReference, PersistentVolume, PersistentVolumeClaim, Pod, Service } from '../../kube/objects.ts';
import type { Change } from '../../kube/contract.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { isConditionReason, type ConditionReason } from '../../errors/condition-reason.ts';
import { nodeAddresses, preferredKind } from '../listeners/addresses.ts';
import { claimNameOf } from '../cluster/starting-pods.ts';
import type { VolumeTarget } from '../cluster/volumes.ts';
import { namePorts } from '../listeners/port-names.ts';
import { familiesOf } from '../listeners/listener-status.ts';

/** Why a mount waits: `reason` for programs, `message` for users. */
export interface Waiting {
  readonly reason: ConditionReason;
  readonly message: string;
}

/** `volumes`: names of the pod's volumes that mount it. */
export type MountCheck = { readonly ok: true; readonly pod: Pod; readonly volumes: readonly string[] } | MountRefusal;

/** `isForged`: the pod exists but runs on another node than the requesting one. */
export interface MountRefusal {
  readonly ok: false;
  readonly isForged: boolean;
  readonly waiting: Waiting;
}

/** Checks that the pod runs on the requesting node. The content of the request does not matter yet. */
export function checkAsker(request: PodListeners, pod: Pod | undefined): { readonly ok: true; readonly pod: Pod } | MountRefusal {
  const podName = ownerOf(request)?.name ?? '';
  if (pod === undefined || podListenersName(pod.metadata.uid ?? '') !== request.metadata.name) {
    return refuse('PodNotFound', `Pod ${podName} with the uid in this object's name does not exist.`);
  }
  if (pod.spec?.nodeName === request.spec.nodeName) return { ok: true, pod };
  const message = `Pod ${podName} does not run on node ${request.spec.nodeName}, which asks for this mount.`;
  return { ok: false, isForged: true, waiting: { reason: 'NotOnThisNode', message } };
}

/** Why the pod of a PodListeners no longer needs its volumes; undefined if it does. */
export function endOf(pod: Pod | undefined, request: PodListeners): Waiting | undefined {
  const podName = `${request.metadata.namespace}/${ownerOf(request)?.name ?? ''}`;
  if (pod === undefined || podListenersName(pod.metadata.uid ?? '') !== request.metadata.name) {
    return { reason: 'PodEnding', message: `Pod ${podName} does not exist any more.` };
  }
  if (pod.metadata.deletionTimestamp !== undefined) return { reason: 'PodEnding', message: `Pod ${podName} is being deleted.` };
  const phase = pod.status?.phase ?? '';
  return FINISHED.has(phase) ? { reason: 'PodEnding', message: `Pod ${podName} has finished (phase ${phase}).` } : undefined;
}

/** Phases in which the kubelet unmounts a pod's volumes. */
const FINISHED: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);

/** Checks that this pod, on the requesting node, really mounts this volume. */
export function checkMount(request: PodListeners, pod: Pod | undefined, volume: PersistentVolume): MountCheck {
  const asker = checkAsker(request, pod);
  if (!asker.ok) return asker;
  const podName = asker.pod.metadata.name ?? '';
  const claimName = volume.spec?.claimRef?.name;
  const isSameNamespace = volume.spec?.claimRef?.namespace === request.metadata.namespace;
  const volumes = (asker.pod.spec?.volumes ?? []).filter((candidate) => claimNameOf(candidate, podName) === claimName);
  if (!isSameNamespace || volumes.length === 0) {
    return refuse('VolumeNotOfPod', `Pod ${podName} has no volume whose claim is bound to PersistentVolume ${volume.metadata.name}.`);
  }
  return { ...asker, volumes: volumes.map(({ name }) => name) };
}

function refuse(reason: ConditionReason, message: string): MountRefusal {
  return { ok: false, isForged: false, waiting: { reason, message } };
}

/**
 * Checks that the claim is the one for which the volume was created and that the pod mounts. A claim named like that of a generic
 * ephemeral volume, but not owned by the pod, does not belong to it.
 */
export function checkClaim(claim: PersistentVolumeClaim | undefined, volume: PersistentVolume, pod: Pod): Waiting | undefined {
  const { namespace, name, uid } = volume.spec?.claimRef ?? {};
  if (claim === undefined || claim.metadata.uid !== uid) {
    const bound = `PersistentVolume ${volume.metadata.name} is bound to`;
    return { reason: 'ClaimNotFound', message: `PersistentVolumeClaim ${namespace}/${name}, which ${bound}, does not exist any more.` };
  }
  const podName = pod.metadata.name ?? '';
  const mounting = (pod.spec?.volumes ?? []).filter((candidate) => claimNameOf(candidate, podName) === name);
  const owners = claim.metadata.ownerReferences ?? [];
  const isOwn = owners.some((owner) => owner.kind === 'Pod' && owner.controller === true && owner.uid === pod.metadata.uid);
  if (isOwn || mounting.some(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined)) return undefined;
  const message = `PersistentVolumeClaim ${namespace}/${name} was not created for pod ${podName}, whose ephemeral volume has this name.`;
  return { reason: 'VolumeNotOfPod', message };
}

/** The request that a pod's node is about to make. */
export function requestOf(pod: Pod, handles: readonly string[]): PodListeners {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const { nodeName } = pod.spec ?? {};
  return {
    apiVersion: apiVersionOf(podListeners),
    kind: podListeners.kind,
    metadata: { name: podListenersName(uid), namespace, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      mounts: Object.fromEntries(handles.map((handle) => [handle, {}])),
      listeners: {},
    },
  };
}

/** The pod that owns a PodListeners. */
export function ownerOf(object: PodListeners): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.kind === 'Pod' && owner.apiVersion === 'v1');
}

/**
 * The Listener of a volume that names a class. Name and labels are those of the claim; ports are those of all of the pod's
 * containers. The volume owns it, so the address lives as long as the volume.
 */
export function planVolumeListener(
  target: VolumeTarget & { readonly kind: 'class' },
  sources: { readonly volume: PersistentVolume; readonly claim: PersistentVolumeClaim; readonly pod: Pod },
): Listener {
  const { volume, claim, pod } = sources;
  return {
    apiVersion: apiVersionOf(listeners),
    kind: listeners.kind,
    metadata: {
      name: target.name,
      namespace: target.namespace,
      labels: { ...claim.metadata.labels },
      ownerReferences: [{ apiVersion: 'v1', kind: 'PersistentVolume', name: volume.metadata.name ?? '', uid: volume.metadata.uid ?? '' }],
    },
    spec: { className: target.className, ports: portsOf(pod), publishNotReadyAddresses: true },
  };
}

/**
 * Containers share a network namespace, so number and protocol identify a port. Names are unique only within a container, so
 * `namePorts` assigns them. Native sidecars are often injected, so their ports come last and do not take names from containers.
 */
function portsOf(pod: Pod): readonly ListenerPort[] {
  const numbered = new Set<string>();
  const ofContainers = newPorts(pod.spec?.containers ?? [], numbered);
  const ofSidecars = newPorts((pod.spec?.initContainers ?? []).filter(isSidecar), numbered);
  const named = namePorts([...ofSidecars, ...ofContainers]).map(({ name, desired }) => ({ ...desired, name }));
  return [...named.slice(ofSidecars.length), ...named.slice(0, ofSidecars.length)];
}

/** The ports whose number is not in `numbered` yet; adds them to it. */
function newPorts(containers: readonly Container[], numbered: Set<string>): readonly ListenerPort[] {
  return containers
    .flatMap(({ ports = [] }) => ports)
    .flatMap(({ name = '', containerPort: port, protocol = 'TCP' }) => {
      const identity = `${port}/${protocol}`;
      if (numbered.has(identity)) return [];
      numbered.add(identity);
      return [{ name, port, protocol }];
    });
}

function isSidecar(container: { readonly restartPolicy?: string }): boolean {
  return container.restartPolicy === 'Always';
}

/** Whether the existing Listener matches. Additional labels and its overrides are kept. */
export function isListenerCurrent(desired: Listener, existing: Listener): boolean {
  const labels = existing.metadata.labels ?? {};
  return (
    Object.entries(desired.metadata.labels ?? {}).every(([key, value]) => labels[key] === value) &&
    existing.spec.className === desired.spec.className &&
    JSON.stringify(portKeys(existing.spec.ports ?? [])) === JSON.stringify(portKeys(desired.spec.ports ?? []))
  );
}

function portKeys(ports: readonly ListenerPort[]): readonly string[] {
  return ports.map(({ name, port, protocol }) => `${name}:${port}/${protocol ?? 'TCP'}`);
}

/** Whether the Listener was created for this volume. */
export function isOwnedByVolume(listener: Listener, volume: PersistentVolume): boolean {
  return (listener.metadata.ownerReferences ?? []).some((owner) => owner.kind === 'PersistentVolume' && owner.uid === volume.metadata.uid);
}

/**
 * Decides what to do with a Listener of this claim's name that this volume does not own: adopt it with these owners, or wait. The
 * message names what is waited for, or what the user must do.
 */
export function planOwnership(
  listener: Listener,
  volume: PersistentVolume,
  volumeNamed: (name: string) => PersistentVolume | undefined,
): { readonly owners: readonly OwnerReference[] } | { readonly waiting: Waiting } {
  const { namespace, name, ownerReferences = [], deletionTimestamp, finalizers = [] } = listener.metadata;
  const which = `Listener ${namespace}/${name}`;
  if (deletionTimestamp !== undefined) return beingReplaced(`${which} of an earlier volume is being deleted${waitingOn(finalizers)}.`);
  const owner = ownerReferences.find(({ kind }) => kind === 'PersistentVolume');
  if (owner === undefined) {
    const remedy = 'Rename the claim, or mount that Listener with the annotation listener-name.';
    return { waiting: { reason: 'ListenerNotOwned', message: `${which} exists and was not created for this volume. ${remedy}` } };
  }
  const earlier = volumeNamed(owner.name);
  const belongs = `${which} belongs to PersistentVolume ${owner.name}`;
  if (earlier === undefined || earlier.metadata.uid !== owner.uid) {
    return beingReplaced(`${belongs}, which no longer exists, so Kubernetes' garbage collector deletes the Listener.`);
  }
  if (earlier.metadata.deletionTimestamp !== undefined) {
    return beingReplaced(`${belongs}, which is being deleted${waitingOn(earlier.metadata.finalizers ?? [])}.`);
  }
  const { claimRef, persistentVolumeReclaimPolicy: policy } = earlier.spec ?? {};
  const phase = earlier.status?.phase ?? 'Pending';
  const isOfClaim = claimRef?.namespace === volume.spec?.claimRef?.namespace && claimRef?.name === volume.spec?.claimRef?.name;
  if (isOfClaim && policy === 'Delete' && phase !== 'Failed') {
    return beingReplaced(`${belongs} of an earlier claim of this name, which is deleted once it is released (its phase is ${phase}).`);
  }
  if (isOfClaim && phase === 'Bound') return beingReplaced(`${belongs}, which Kubernetes has not released from the deleted claim yet.`);
  if (isOfClaim) {
    const { name: volumeName = '', uid = '' } = volume.metadata;
    const others = ownerReferences.filter(({ kind }) => kind !== 'PersistentVolume');
    return { owners: [...others, { apiVersion: 'v1', kind: 'PersistentVolume', name: volumeName, uid }] };
  }
  const claimed = claimRef?.name === undefined ? 'no claim' : `claim ${claimRef.namespace}/${claimRef.name}`;
  const remedy = 'Delete that volume, and its address with it, or give this claim another name.';
  return { waiting: { reason: 'ListenerNotOwned', message: `${belongs} (phase ${phase}, of ${claimed}). ${remedy}` } };
}

function beingReplaced(message: string): { readonly waiting: Waiting } {
  return { waiting: { reason: 'ListenerBeingReplaced', message: `${message} The mount continues after that.` } };
}

function waitingOn(finalizers: readonly string[]): string {
  return finalizers.length === 0 ? '' : ` (its finalizers: ${finalizers.join(', ')})`;
}

/**
 * Whether a change of a Listener can affect the answer to pods that mount it (planEntry), or why they wait. Most changes affect
 * only its own addresses, which pods with node ports do not get.
 */
export function concernsMounts({ object, previous }: Change<Listener>): boolean {
  return previous === undefined || !isDeepStrictEqual(relevantPartsOf(previous), relevantPartsOf(object));
}

function relevantPartsOf({ metadata, spec, status }: Listener): unknown {
  const addresses = status?.ingressAddresses ?? [];
  const nodePorts = status?.nodePorts ?? undefined;
  const failing = (status?.conditions ?? []).filter((condition) => condition.status === 'False');
  return {
    uid: metadata.uid,
    className: spec.className ?? null,
    nodePorts,
    // The preferred type if the class is missing (preferenceOf). For node ports it is the same before there is an address.
    kind: addresses[0]?.addressType ?? 'IP',
    ...(nodePorts === undefined ? { addresses, failing: failing.map(({ type, reason, message }) => ({ type, reason, message })) } : {}),
  };
}

export type EntryPlan = { readonly entry: PodListener } | { readonly waiting: Waiting };

/**
 * The answer for the pod. With node ports the addresses are those of the pod's own node: they lead to this pod and are known
 * before it has an endpoint. Otherwise they are the Listener's, from observeListener (listeners/listener-status.ts).
 */
export function planEntry(
  listener: Listener,
  around: {
    readonly service: Service | undefined;
    readonly node: Node | undefined;
    readonly nodeName: string;
    readonly preferredAddressType: PreferredAddressType;
    readonly volumeHandle: string;
  },
): EntryPlan {
  const { status } = listener;
  const identity = { volumeHandle: around.volumeHandle, listenerUid: listener.metadata.uid ?? '' };
  const nodePorts = status?.nodePorts ?? undefined;
  if (nodePorts === undefined) {
    const ingressAddresses = status?.ingressAddresses ?? [];
    if (ingressAddresses.length === 0) return { waiting: unready(listener) };
    return { entry: { scope: 'Cluster', ingressAddresses, ...identity } };
  }
  if (around.node === undefined) {
    return { waiting: { reason: 'NodeMissing', message: `Node ${around.nodeName} does not exist.` } };
  }
  if (around.service === undefined) return { waiting: unready(listener) };
  const families = familiesOf(around.service);
  const addresses = nodeAddresses(around.node, preferredKind(around.preferredAddressType, 'NodePort'), families);
  if (addresses.length === 0) {
    const message = `Node ${around.nodeName} lists no address of the Service's IP families (${families.join(', ')}) in status.addresses.`;
    return { waiting: { reason: 'NodeHasNoAddress', message } };
  }
  const ingressAddresses = addresses.map((reachable) => ({ ...reachable, ports: nodePorts }));
  return { entry: { scope: 'Node', ingressAddresses, ...identity } };
}

/** The Listener's own reason for having no address: Accepted before Ready. */
function unready(listener: Listener): Waiting {
  const { name, namespace } = listener.metadata;
  const conditions = listener.status?.conditions ?? [];
  const failing = ['Accepted', 'Ready']
    .map((type) => conditions.find((condition) => condition.type === type))
    .find((condition) => condition?.status === 'False');
  return failing === undefined
    ? { reason: 'ListenerPending', message: `Listener ${namespace}/${name} has not been reconciled yet.` }
    : {
        reason: isConditionReason(failing.reason) ? failing.reason : 'ListenerPending',
        message: `Listener ${namespace}/${name}: ${failing.message}`,
      };
}
