/**
 * Answers the mounts of one pod (one PodListeners): makes the Listener if the volume names a class, labels volume and
 * pod, and writes down the addresses, now and whenever they change. The entry comes last, so an entry means that
 * everything before it was done.
 */
import { LISTENER_NAMESPACE_LABEL, LISTENER_NAME_LABEL, podLabelOf } from '../api/listeners/names.ts';
import { listeners, podListeners, type Listener, type PodListener, type PodListeners } from '../api/listeners/index.ts';
import type { EventRecorder, KeyString, KubeClient, Reconcile } from '../kube/contract.ts';
import { ApiError } from '../kube/errors.ts';
import { keyOf, parseKey } from '../kube/key.ts';
import type { PersistentVolume, Pod } from '../kube/objects.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../kube/resource.ts';
import { preferenceOf } from './addresses.ts';
import type { ClusterCaches } from './caches.ts';
import { freshView } from './fresh-view.ts';
import {
  checkMount,
  isListenerCurrent,
  isOwnedByVolume,
  ownerOf,
  planEntry,
  planVolumeListener,
  targetOf,
  type VolumeTarget,
  type Waiting,
} from './mount-plan.ts';
import { refuseName } from './plan.ts';
import { isRefusal } from './refusal.ts';

export interface MountReconcilerOptions {
  readonly client: KubeClient;
  readonly caches: ClusterCaches;
  readonly events: EventRecorder;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Most mounts wait for a moment only; what lasts longer than this many milliseconds is worth a write and an event. */
const patience = 1_500;

/** How one volume of the pod stands. */
type MountState =
  | { readonly handle: string; readonly entries: Readonly<Record<string, PodListener>> }
  /** `retry` is thrown once everything is written, so that the queue tries again later and later. */
  | { readonly handle: string; readonly waiting: Waiting; readonly retry?: unknown };

interface Progress {
  /** When it began to wait, by the clock. */
  readonly since: number;
  /** Set once it was checked and labelled: it is not read and labelled again while it waits for the address. */
  readonly prepared?: { readonly listenerUid: string | undefined; readonly volumes: readonly string[] };
}

export function createMountReconciler(options: MountReconcilerOptions): Reconcile {
  const { client, caches, events } = options;
  const view = { podListeners: freshView(caches.podListeners), listeners: freshView(caches.listeners) };
  /** Mounts under way, by `uid/handle`; gone once they are complete. Bounded by what waits in the cluster. */
  const underway = new Map<string, Progress>();
  caches.podListeners.onChange(({ type, object }) => {
    if (type !== 'deleted') return;
    for (const handle of Object.keys(object.spec.mounts ?? {})) underway.delete(idOf(object, handle));
  });

  return async (key, signal) => {
    const request = view.podListeners.get(key);
    if (request === undefined || request.metadata.deletionTimestamp !== undefined) return undefined;
    const readPod = once(() => podOf(request, signal));
    if (request.spec.nodeName === undefined) return adopt(request, key, readPod, signal);
    const states: MountState[] = [];
    for (const handle of Object.keys(request.spec.mounts ?? {})) {
      const state = await stateOrRefusal(request, handle, readPod, signal);
      if (state === 'forged') return undefined;
      states.push(state);
    }
    const current = await writeEntries(request, key, states, signal);
    const result = await writeWaiting(current, key, states, signal);
    for (const state of states) if ('retry' in state) throw state.retry;
    return result;
  };

  function podOf(request: PodListeners, signal: AbortSignal): Promise<Pod | undefined> {
    const { namespace = '' } = request.metadata;
    return client.find(pods, { namespace, name: ownerOf(request)?.name ?? '-' }, { signal });
  }

  /**
   * An object that an earlier system left behind has addresses, but names no node and no mounts, so nobody follows it.
   * What is missing is read off the pod.
   */
  async function adopt(request: PodListeners, key: KeyString, readPod: () => Promise<Pod | undefined>, signal: AbortSignal): Promise<undefined> {
    const pod = await readPod();
    const nodeName = pod?.spec?.nodeName;
    if (pod === undefined || nodeName === undefined) return;
    const target = { ...request, spec: { ...request.spec, nodeName } };
    const mounted = [...caches.volumes.values()].filter(
      (volume) => volume.spec?.claimRef?.namespace === request.metadata.namespace && checkMount(target, pod, volume).ok,
    );
    const mounts = Object.fromEntries(mounted.map((volume) => [volume.spec?.csi?.volumeHandle ?? '', {}]));
    const patch = { metadata: { uid: request.metadata.uid }, spec: { nodeName, mounts } };
    view.podListeners.wrote(await client.patch(podListeners, parseKey(key), patch, { type: 'merge', signal }));
  }

  /** What the API server will not have is for a person to mend, and no reason to leave the pod's other volumes undone. */
  async function stateOrRefusal(...[request, handle, readPod, signal]: Parameters<typeof stateOf>): ReturnType<typeof stateOf> {
    try {
      return await stateOf(request, handle, readPod, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || !isRefusal(error)) throw error;
      return { handle, waiting: { reason: 'Refused', message: `The API server refuses what this volume needs: ${error.message}` }, retry: error };
    }
  }

  async function stateOf(
    request: PodListeners,
    handle: string,
    readPod: () => Promise<Pod | undefined>,
    signal: AbortSignal,
  ): Promise<MountState | 'forged'> {
    const wait = (reason: string, message: string): MountState => ({ handle, waiting: { reason, message } });
    const id = idOf(request, handle);
    const progress = underway.get(id) ?? { since: options.clock() };
    underway.set(id, progress);
    const volume = caches.volumes.by('handle', handle)[0];
    if (volume === undefined) return wait('VolumeNotFound', `No PersistentVolume has the volume handle ${handle}.`);
    const target = targetOf(volume);
    if (target === undefined) {
      return wait('VolumeNotBound', `PersistentVolume ${volume.metadata.name} is not bound to a claim, or names neither a Listener nor a class.`);
    }
    const refused = refuseName(target.name);
    if (refused !== undefined) return { handle, waiting: refused };
    const known = view.listeners.get(`${target.namespace}/${target.name}`);
    const done = Object.entries(request.spec.listeners).filter(([, entry]) => entry.volumeHandle === handle);
    if (known !== undefined && done.length > 0 && done.every(([, entry]) => entry.listenerUid === known.metadata.uid)) {
      return entriesFor(request, handle, known, done.map(([name]) => name));
    }
    if (known !== undefined && progress.prepared?.listenerUid === known.metadata.uid && progress.prepared !== undefined) {
      return entriesFor(request, handle, known, progress.prepared.volumes);
    }
    const pod = await readPod();
    const check = checkMount(request, pod, volume);
    if (!check.ok) {
      if (check.isForged) await reject(request, check.waiting, signal);
      return check.isForged ? 'forged' : { handle, waiting: check.waiting };
    }
    if (pod === undefined) return wait('PodNotFound', 'The pod does not exist any more.');
    const listener = target.kind === 'named' ? known : await ensureListener(target, known, volume, pod, signal);
    if (listener === undefined) {
      return wait('ListenerNotFound', `Listener ${target.namespace}/${target.name} does not exist. Create it, or correct the claim's annotation (in a new claim).`);
    }
    if ('waiting' in listener) return { handle, waiting: listener.waiting };
    await label(listener, volume, pod, signal);
    underway.set(id, { ...progress, prepared: { listenerUid: listener.metadata.uid, volumes: check.volumes } });
    return entriesFor(request, handle, listener, check.volumes);
  }

  function entriesFor(request: PodListeners, handle: string, listener: Listener, volumes: readonly string[]): MountState {
    const nodeName = request.spec.nodeName ?? '';
    const planned = planEntry(listener, {
      service: caches.services.get(keyOf(listener)),
      node: caches.nodes.get(nodeName),
      nodeName,
      preferredAddressType: preferenceOf(listener, caches.classes.get(listener.spec.className ?? '')),
      volumeHandle: handle,
    });
    if ('waiting' in planned) return { handle, waiting: planned.waiting };
    return { handle, entries: Object.fromEntries(volumes.map((name) => [name, planned.entry])) };
  }

  /** A node asked in the name of a pod that is not its own. Its object would keep the right node from asking. */
  async function reject(request: PodListeners, why: Waiting, signal: AbortSignal): Promise<void> {
    const pod = ownerOf(request);
    if (pod !== undefined) {
      const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: request.metadata.namespace ?? '', name: pod.name, uid: pod.uid };
      events.record({ regarding, type: 'Warning', reason: why.reason, action: 'Mount', note: why.message });
    }
    const { namespace = '', name = '', uid } = request.metadata;
    await client.delete(podListeners, { namespace, name }, { signal, ...(uid === undefined ? {} : { uid }) });
  }

  async function ensureListener(
    target: VolumeTarget & { readonly kind: 'class' },
    known: Listener | undefined,
    volume: PersistentVolume,
    pod: Pod,
    signal: AbortSignal,
  ): Promise<Listener | { readonly waiting: Waiting }> {
    const { namespace, name } = target;
    if (known !== undefined && !isOwnedByVolume(known, volume)) return { waiting: notOurs(known) };
    const claim = await client.find(persistentVolumeClaims, { namespace, name }, { signal });
    if (claim === undefined || claim.metadata.uid !== volume.spec?.claimRef?.uid) {
      const message = `PersistentVolumeClaim ${namespace}/${name}, which PersistentVolume ${volume.metadata.name} is bound to, does not exist any more.`;
      return { waiting: { reason: 'ClaimNotFound', message } };
    }
    const wanted = planVolumeListener(target, { volume, claim, pod });
    if (known !== undefined && isListenerCurrent(wanted, known)) return known;
    // Without a known one it must not exist either: resource version 1 is no object's, so an existing one conflicts.
    const precondition = known === undefined ? { resourceVersion: '1' } : { uid: known.metadata.uid ?? '' };
    const applied = await client.apply(listeners, { ...wanted, metadata: { ...wanted.metadata, ...precondition } }, { signal });
    view.listeners.wrote(applied);
    return applied;
  }

  function notOurs(listener: Listener): Waiting {
    const { namespace, name, ownerReferences = [] } = listener.metadata;
    if (ownerReferences.some(({ kind }) => kind === 'PersistentVolume')) {
      const message = `Listener ${namespace}/${name} belongs to an earlier volume of this claim's name and is being removed.`;
      return { reason: 'ListenerBeingReplaced', message };
    }
    const message = `Listener ${namespace}/${name} exists and was not made for this volume. Rename the claim, or mount that Listener with the annotation listener-name.`;
    return { reason: 'ListenerNotOwned', message };
  }

  /** The volume tells which Listener it is part of, the pod is what the Service selects. */
  async function label(listener: Listener, volume: PersistentVolume, pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace = '', name = '', uid = '' } = listener.metadata;
    const [key, value] = podLabelOf({ name, uid });
    const ofVolume = { [LISTENER_NAMESPACE_LABEL]: namespace, [LISTENER_NAME_LABEL]: name };
    await Promise.all([
      hasLabels(volume, ofVolume)
        ? undefined
        : client.patch(persistentVolumes, { name: volume.metadata.name ?? '' }, labelPatch(volume, ofVolume), { type: 'merge', signal }),
      hasLabels(pod, { [key]: value })
        ? undefined
        : client.patch(pods, { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name ?? '' }, labelPatch(pod, { [key]: value }), { type: 'merge', signal }),
    ]);
  }

  async function writeEntries(request: PodListeners, key: KeyString, states: readonly MountState[], signal: AbortSignal): Promise<PodListeners> {
    const changed = states.flatMap((state) =>
      'entries' in state ? Object.entries(state.entries).filter(([name, entry]) => !sameEntry(request.spec.listeners[name], entry)) : [],
    );
    if (changed.length === 0) return request;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: request.metadata.uid },
      ...changed.map(([name, value]) => ({ op: 'add', path: `/spec/listeners/${escapePointer(name)}`, value })),
    ];
    const written = await client.patch(podListeners, parseKey(key), patch, { type: 'json', signal });
    view.podListeners.wrote(written);
    return written;
  }

  /** Says in the status, and once in an event on the pod, what is waited for; takes it back when it came. */
  async function writeWaiting(request: PodListeners, key: KeyString, states: readonly MountState[], signal: AbortSignal): Promise<{ requeueAfter: number } | undefined> {
    const shown = request.status?.mounts ?? {};
    const changes: Record<string, Waiting | null> = {};
    let next = Number.POSITIVE_INFINITY;
    for (const state of states) {
      const before = shown[state.handle];
      if ('entries' in state) {
        underway.delete(idOf(request, state.handle));
        if (before !== undefined) changes[state.handle] = null;
        continue;
      }
      const left = (underway.get(idOf(request, state.handle))?.since ?? 0) + patience - options.clock();
      if (left > 0) next = Math.min(next, left);
      else if (before?.reason !== state.waiting.reason || before.message !== state.waiting.message) changes[state.handle] = state.waiting;
    }
    if (Object.keys(changes).length > 0) {
      const patch = { metadata: { uid: request.metadata.uid }, status: { mounts: changes } };
      view.podListeners.wrote(await client.patch(podListeners, parseKey(key), patch, { type: 'merge', subresource: 'status', signal }));
      for (const waiting of Object.values(changes)) if (waiting !== null) announceWaiting(request, waiting);
    }
    return Number.isFinite(next) ? { requeueAfter: next } : undefined;
  }

  function announceWaiting(request: PodListeners, waiting: Waiting): void {
    const pod = ownerOf(request);
    if (pod === undefined) return;
    const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: request.metadata.namespace ?? '', name: pod.name, uid: pod.uid };
    events.record({ regarding, type: 'Warning', reason: waiting.reason, action: 'Mount', note: `The listener volume waits: ${waiting.message}` });
  }
}

function idOf(request: PodListeners, handle: string): string {
  return `${request.metadata.uid}/${handle}`;
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= read());
}

function hasLabels(object: PersistentVolume | Pod, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => object.metadata.labels?.[key] === value);
}

/** The uid makes the patch fail on a successor of the same name. */
function labelPatch(object: PersistentVolume | Pod, labels: Readonly<Record<string, string>>): unknown {
  return { metadata: { uid: object.metadata.uid, labels } };
}

function sameEntry(a: PodListener | undefined, b: PodListener): boolean {
  return a !== undefined && JSON.stringify(comparable(a)) === JSON.stringify(comparable(b));
}

function comparable(entry: PodListener): unknown {
  const ingress = (entry.ingressAddresses ?? []).map(({ address, addressType, ports }) => [
    address,
    addressType,
    Object.entries(ports).sort(([a], [b]) => (a < b ? -1 : 1)),
  ]);
  return [entry.scope, entry.volumeHandle, entry.listenerUid, ingress];
}

/** RFC 6901, section 3. */
function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

