/** Expected state at the end, by the pure rules, given the objects that exist. */
import { isDeepStrictEqual } from 'node:util';
import type { Listener, ListenerClass, PodListener, PodListeners } from '../../src/api/listeners/index.ts';
import { LISTENER_NAME_LABEL, LISTENER_NAMESPACE_LABEL, podLabelOf, podListenersName } from '../../src/api/listeners/names.ts';
import { isBound, selectedNodeOf } from '../../src/exposure/cluster/claims.ts';
import { pinnedNodesOf, targetOf } from '../../src/exposure/cluster/volumes.ts';
import { treeOf, type Tree } from '../../src/exposure/csi/tree.ts';
import { preferenceOf } from '../../src/exposure/listeners/addresses.ts';
import { observeListener, sameStatus, type Acceptance, type Surroundings } from '../../src/exposure/listeners/listener-status.ts';
import { isOwnedBy, planService } from '../../src/exposure/listeners/service-plan.ts';
import { differs } from '../../src/exposure/listeners/service-patch.ts';
import { volumeNotices } from '../../src/exposure/listeners/volume-notices.ts';
import { requestOf } from '../../src/exposure/provision/volume-request.ts';
import { isListenerCurrent, isOwnedByVolume, planEntry, planVolumeListener } from '../../src/exposure/mounts/mount-plan.ts';
import { keyOf } from '../../src/kube/key.ts';
import type { EndpointSlice, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service } from '../../src/kube/objects.ts';
import { CLUSTER_DOMAIN, type Cluster } from './cluster.ts';
import type { Disk, Entry } from './disk.ts';
import { SERVICE_NAME_LABEL } from './kube/endpoints.ts';
import { Kubelet } from './kube/kubelet.ts';
import { claimNameOf } from './kube/volumes.ts';

export interface Judged {
  /** Pending rechecks have run, so that unwatched state has to be right too. */
  readonly patient: boolean;
}

export function wrongs(cluster: Cluster, how: Judged): readonly string[] {
  const { store } = cluster;
  return [
    ...store
      .all<Listener>('listeners')
      .flatMap((listener) => listenerWrongs(cluster, listener).map((what) => `Listener ${keyOf(listener)}: ${what}`)),
    ...store.all<Pod>('pods').flatMap((pod) => mountWrongs(cluster, pod, how).map((what) => `Pod ${keyOf(pod)}: ${what}`)),
    ...store
      .all<PersistentVolume>('persistentvolumes')
      .flatMap((volume) => [...releaseWrongs(cluster, volume), ...bindingWrongs(cluster, volume)]),
    ...store
      .all<PersistentVolumeClaim>('persistentvolumeclaims')
      .flatMap((claim) => claimWrongs(cluster, claim).map((what) => `Claim ${keyOf(claim)}: ${what}`)),
  ];
}

function listenerWrongs({ store }: Cluster, listener: Listener): readonly string[] {
  if (listener.metadata.deletionTimestamp !== undefined) return [];
  const key = keyOf(listener);
  const listenerClass = store.get<ListenerClass>('listenerclasses', listener.spec.className ?? '');
  const live = store.get<Service>('services', key);
  const own = live !== undefined && isOwnedBy(live, listener) ? live : undefined;
  const said = new Map((listener.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  const plan = planService(listener, listenerClass, store.all<ListenerClass>('listenerclasses').map(keyOf));
  if (plan.refused === undefined && live !== undefined && own === undefined) {
    const { reason = '' } = said.get('Ready') ?? {};
    return reason === 'ServiceNotOwned' || reason === 'ServiceBeingReplaced'
      ? []
      : [`another's Service is in the way, and it says ${reason}`];
  }
  const isRejected = plan.refused === undefined && isRefused(plan.service);
  const acceptance: Acceptance = isRejected
    ? { accepted: false, reason: 'ServiceRejected', message: said.get('Accepted')?.message ?? '' }
    : plan.refused === undefined
      ? { accepted: true, notices: [...plan.notices, ...volumeNotices(listener, listenerClass, volumesOf(store, key)), ...contestIn(said)] }
      : { accepted: false, ...plan.refused };
  if (plan.refused === undefined && !isRejected) {
    if (own === undefined) return ['it has no Service'];
    if (differs(plan.service, own)) return [`its Service is not as planned: ${JSON.stringify(own)}`];
  }
  const status = observeListener(
    listener,
    acceptance,
    {
      service: own,
      preferredAddressType: preferenceOf(listener, listenerClass),
      pinnedNodes: new Set(volumesOf(store, key).flatMap(pinnedNodesOf)),
      ...endpointsOf(store, key),
      nodeNamed: (name) => store.get<Node>('nodes', name),
      clusterDomain: CLUSTER_DOMAIN,
    },
    '2030-01-01T00:00:00Z',
  );
  const isSame = sameStatus(listener.status ?? undefined, status);
  return isSame ? [] : [`its status is ${JSON.stringify(listener.status)} and not ${JSON.stringify(status)}`];
}

/** Whether repairs of the Service are damped depends on what has been: it is believed, and play.ts waits for its end. */
function contestIn(said: ReadonlyMap<string, { readonly message: string }>): readonly string[] {
  return CONTEST.exec(said.get('Accepted')?.message ?? '')?.slice(0, 1) ?? [];
}

export const CONTEST = /Service \S+ is reverted by .*/;

/** As the played API server does (admission.ts). */
function isRefused(service: Service): boolean {
  const ports = service.spec?.ports ?? [];
  return ports.some(({ port }) => port > 65_535) || new Set(ports.map(({ port, protocol }) => `${port}/${protocol}`)).size < ports.length;
}

function volumesOf(store: Cluster['store'], listener: string): readonly PersistentVolume[] {
  return store.all<PersistentVolume>('persistentvolumes').filter((volume) => {
    const target = targetOf(volume);
    return target !== undefined && `${target.namespace}/${target.name}` === listener;
  });
}

function endpointsOf(store: Cluster['store'], service: string): Pick<Surroundings, 'endpointNodes' | 'unreadyPods'> {
  const slices = store.all<EndpointSlice>('endpointslices').filter(({ metadata }) => {
    const { labels = {}, namespace } = metadata;
    return labels[LISTENER_NAME_LABEL] !== undefined && `${namespace}/${labels[SERVICE_NAME_LABEL]}` === service;
  });
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false);
  const unready = endpoints.filter(({ conditions }) => conditions?.ready === false && conditions.terminating !== true);
  return {
    endpointNodes: new Set(ready.flatMap(({ nodeName }) => (nodeName === undefined ? [] : [nodeName]))),
    unreadyPods: unready.flatMap(({ targetRef }) => targetRef?.name ?? []).sort(),
  };
}

/** Each volume has its claim, and no other has that; they are bound to each other. */
function bindingWrongs({ store }: Cluster, { metadata, spec, status }: PersistentVolume): readonly string[] {
  const { namespace, name, uid } = spec?.claimRef ?? {};
  const claim = store.get<PersistentVolumeClaim>('persistentvolumeclaims', `${namespace}/${name}`);
  if (claim?.metadata.uid !== uid && spec?.persistentVolumeReclaimPolicy === 'Retain') {
    return status?.phase === 'Released' ? [] : [`PersistentVolume ${metadata.name} is retained, and not Released`];
  }
  if (claim === undefined || claim.metadata.uid !== uid) return [`PersistentVolume ${metadata.name} is left without its claim`];
  return isBound(claim) && claim.spec?.volumeName === metadata.name ? [] : [`Claim ${keyOf(claim)} is not bound to ${metadata.name}`];
}

/** A claim has one volume at most, and one where its pod has a node and the rule says what it asks for. */
function claimWrongs({ store }: Cluster, claim: PersistentVolumeClaim): readonly string[] {
  const { uid, deletionTimestamp } = claim.metadata;
  const volumes = store.all<PersistentVolume>('persistentvolumes').filter(({ spec }) => spec?.claimRef?.uid === uid);
  if (volumes.length > 1) return [`it has ${volumes.length} volumes`];
  const node = store.get<Node>('nodes', selectedNodeOf(claim) ?? '');
  if (deletionTimestamp !== undefined || volumes.length === 1 || node === undefined) return [];
  const request = requestOf(claim, {
    classes: {
      get: (name) => store.get<ListenerClass>('listenerclasses', name),
      values: () => store.all<ListenerClass>('listenerclasses').values(),
    },
    listeners: { get: (key) => store.get<Listener>('listeners', key) },
  });
  return request.ok ? ['it has no volume'] : [];
}

/** `nodeLossPolicy: Release` gives up what is pinned to nodes that are gone. */
function releaseWrongs({ store }: Cluster, volume: PersistentVolume): readonly string[] {
  const pinned = pinnedNodesOf(volume);
  const target = targetOf(volume);
  if (pinned.length === 0 || target === undefined || pinned.some((name) => store.get('nodes', name) !== undefined)) return [];
  const listener = store.get<Listener>('listeners', `${target.namespace}/${target.name}`);
  const className = listener?.spec.className ?? (target.kind === 'class' ? target.className : undefined);
  if (store.get<ListenerClass>('listenerclasses', className ?? '')?.spec.nodeLossPolicy !== 'Release') return [];
  const { namespace, name, uid } = volume.spec?.claimRef ?? {};
  const claim = store.get('persistentvolumeclaims', `${namespace}/${name}`);
  const isKept = claim !== undefined && claim.metadata.uid === uid && claim.metadata.deletionTimestamp === undefined;
  return isKept ? [`Claim ${namespace}/${name} keeps the address of ${pinned.join()}, which is gone`] : [];
}

function mountWrongs(cluster: Cluster, pod: Pod, how: Judged): readonly string[] {
  const { store } = cluster;
  const { nodeName } = pod.spec ?? {};
  const node = store.get<Node>('nodes', nodeName ?? '');
  if (nodeName === undefined || node === undefined || pod.metadata.deletionTimestamp !== undefined) return [];
  const name = podListenersName(pod.metadata.uid ?? '');
  const object = store.get<PodListeners>('podlisteners', `${pod.metadata.namespace}/${name}`);
  return (pod.spec?.volumes ?? []).flatMap((mounted) => {
    const claim = store.get<PersistentVolumeClaim>('persistentvolumeclaims', `${pod.metadata.namespace}/${claimNameOf(pod, mounted)}`);
    const volume = store.get<PersistentVolume>('persistentvolumes', claim?.spec?.volumeName ?? '');
    if (claim === undefined || volume === undefined) return [];
    return oneMountWrongs(cluster, { pod, node, object, claim, volume, name: mounted.name }, how).map(
      (what) => `volume ${mounted.name}: ${what}`,
    );
  });
}

interface OneMount {
  readonly pod: Pod;
  readonly node: Node;
  readonly object: PodListeners | undefined;
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  readonly name: string;
}

function oneMountWrongs(cluster: Cluster, mount: OneMount, { patient }: Judged): readonly string[] {
  const { pod, node, object, volume, name } = mount;
  const nodeName = node.metadata.name ?? '';
  const handle = volume.spec?.csi?.volumeHandle ?? '';
  if (object === undefined) return ['it is not requested: there is no PodListeners'];
  if (object.spec.mounts?.[handle] === undefined) return [`the PodListeners does not ask for ${handle}`];
  const wanted = wantedEntry(cluster, mount);
  if (wanted === undefined) return [];
  if ('reason' in wanted) {
    const shown = object.status?.mounts?.[handle]?.reason;
    return patient && shown !== wanted.reason ? [`it waits for ${wanted.reason}, and ${shown} is shown`] : [];
  }
  const { entry, listener } = wanted;
  const there = object.spec.listeners[name];
  if (there === undefined || !isDeepStrictEqual({ ...there, ingressAddresses: there.ingressAddresses ?? [] }, entry)) {
    return [`its entry is ${JSON.stringify(there)} and not ${JSON.stringify(entry)}`];
  }
  const result: string[] = [];
  if (patient && object.status?.mounts?.[handle] !== undefined) result.push('its status says that it waits');
  const [label, value] = podLabelOf({ name: listener.metadata.name ?? '', uid: listener.metadata.uid ?? '' });
  if (pod.metadata.labels?.[label] !== value) result.push('the pod lacks its label');
  const { [LISTENER_NAME_LABEL]: ofName, [LISTENER_NAMESPACE_LABEL]: ofNamespace } = volume.metadata.labels ?? {};
  if (ofName !== listener.metadata.name || ofNamespace !== listener.metadata.namespace)
    result.push('the PersistentVolume lacks its labels');
  const shown = shownTree(cluster.diskOf(nodeName), `${Kubelet.folderOf(pod.metadata.uid ?? '', handle)}/mount`);
  const tree = treeOf(entry);
  if (!isDeepStrictEqual(shown, tree)) result.push(`its files say ${inspect(shown)} and not ${inspect(tree)}`);
  return result;
}

/** Undefined where two want one Listener, and which of them has it depends on who came first. */
function wantedEntry(
  { store }: Cluster,
  { pod, node, claim, volume }: OneMount,
): { readonly entry: PodListener; readonly listener: Listener } | { readonly reason: string } | undefined {
  const target = targetOf(volume);
  if (target === undefined) return { reason: 'VolumeNotBound' };
  const listener = store.get<Listener>('listeners', `${target.namespace}/${target.name}`);
  if (target.kind === 'class') {
    if (listener === undefined || !isOwnedByVolume(listener, volume)) return { reason: 'a Listener of its own' };
    if (!isListenerCurrent(planVolumeListener(target, { volume, claim, pod }), listener)) return { reason: 'a current Listener' };
  }
  if (listener === undefined) return { reason: 'ListenerNotFound' };
  const service = store.get<Service>('services', keyOf(listener));
  const planned = planEntry(listener, {
    service: service?.metadata.labels?.[LISTENER_NAME_LABEL] === undefined ? undefined : service,
    node,
    nodeName: node.metadata.name ?? '',
    preferredAddressType: preferenceOf(listener, store.get<ListenerClass>('listenerclasses', listener.spec.className ?? '')),
    volumeHandle: volume.spec?.csi?.volumeHandle ?? '',
  });
  return 'entry' in planned ? { entry: planned.entry, listener } : { reason: planned.waiting.reason };
}

/** A pod's view of its volume. */
function shownTree(disk: Disk, folder: string): Tree | undefined {
  const at = (path: string): Entry | undefined => {
    try {
      return disk.find(`${folder}/${path}`);
    } catch {
      return undefined;
    }
  };
  const first = at('default-address');
  const generation = at('addresses');
  if (first?.kind !== 'link' || generation?.kind !== 'link') return undefined;
  const shown = at(generation.text);
  if (shown?.kind !== 'folder') return undefined;
  const addresses = [...shown.entries.keys()].map((address): [string, Map<string, number>] => {
    const ports = at(`${generation.text}/${address}/ports`);
    const files = ports?.kind === 'folder' ? [...ports.entries] : [];
    return [address, new Map(files.map(([port, file]) => [port, file.kind === 'file' ? Number(file.content) : Number.NaN]))];
  });
  return { primary: first.text.slice('addresses/'.length), addresses: new Map(addresses) };
}

function inspect(tree: Tree | undefined): string {
  if (tree === undefined) return 'nothing';
  const addresses = [...tree.addresses].map(([address, ports]) => `${address} ${JSON.stringify(Object.fromEntries(ports))}`);
  return `${tree.primary}: ${addresses.join(', ')}`;
}
