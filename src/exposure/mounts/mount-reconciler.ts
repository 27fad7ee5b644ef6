/**
 * Answers the mounts of one pod (one PodListeners): makes the Listener if the volume names a class, labels volume and
 * pod, and writes down the addresses, now and whenever they change. The entry comes last, so an entry means that
 * everything before it was done.
 */
import { podListeners, type Listener, type PodListeners } from '../../api/listeners/index.ts';
import type { EventRecorder, KeyString, KubeClient } from '../../kube/contract.ts';
import type { Reconcile } from '../../work/reconcile.ts';
import { ApiError } from '../../kube/errors.ts';
import { keyOf, parseKey } from '../../kube/key.ts';
import type { Pod } from '../../kube/objects.ts';
import { pods } from '../../kube/resource.ts';
import { preferenceOf } from '../listeners/addresses.ts';
import type { ClusterCaches } from '../caches.ts';
import { freshView } from '../../kube/watch/fresh-view.ts';
import { mountAnswers, type MountState } from './mount-answers.ts';
import { checkAsker, checkMount, ownerOf, planEntry, targetOf, type Waiting } from './mount-plan.ts';
import { mountPreparation } from './mount-preparation.ts';
import { refuseName } from '../listeners/service-plan.ts';
import { isRefusal } from '../../kube/refusal.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';

export interface MountReconcilerOptions {
  readonly client: KubeClient;
  readonly caches: ClusterCaches;
  readonly events: EventRecorder;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Most mounts wait for a moment only; what lasts longer than this many milliseconds is worth a write and an event. */
const patience = 1_500;
/** Where nothing is wrong as far as is known, and the controller itself is just not there yet. */
const longPatience = 10_000;
const stages: ReadonlySet<ConditionReason> = new Set<ConditionReason>(['ListenerPending', 'VolumeNotFound', 'NoService', 'ServicePending']);

interface Progress {
  /** When it began to wait, by the clock. */
  readonly since: number;
  /** Set once it was checked and labelled: it is not read and labelled again while it waits for the address. */
  readonly prepared?: { readonly listenerUid: string | undefined; readonly volumes: readonly string[] };
}

export function createMountReconciler(options: MountReconcilerOptions): Reconcile {
  const { client, caches } = options;
  const view = { podListeners: freshView(caches.podListeners), listeners: freshView(caches.listeners) };
  const preparation = mountPreparation(client, view.listeners);
  const answers = mountAnswers(client, options.events, view.podListeners);
  /** Mounts under way, by `uid/handle`; gone once they are complete. Bounded by what waits in the cluster. */
  const underway = new Map<string, Progress>();
  /** The uids of requests whose pod was seen on the node that asks. */
  const genuine = new Set<string | undefined>();
  caches.podListeners.onChange(({ type, object }) => {
    if (type !== 'deleted') return;
    genuine.delete(object.metadata.uid);
    for (const handle of Object.keys(object.spec.mounts ?? {})) underway.delete(idOf(object, handle));
  });

  return async (key, signal) => {
    const request = view.podListeners.get(key);
    if (request === undefined || request.metadata.deletionTimestamp !== undefined) return undefined;
    const readPod = once(() => podOf(request, signal));
    if (request.spec.nodeName === undefined) return adopt(request, key, readPod, signal);
    if (await isForged(request, readPod, signal)) return undefined;
    const states: MountState[] = [];
    for (const handle of Object.keys(request.spec.mounts ?? {})) {
      states.push(await stateOrRefusal(request, handle, readPod, signal));
    }
    const current = await answers.writeEntries(request, key, states, signal);
    const result = await showWaiting(current, key, states, signal);
    for (const state of states) if ('retry' in state) throw state.retry;
    return result;
  };

  /**
   * A request is looked at when it is first seen, whatever it asks for: one in the name of another node's pod keeps
   * that node from asking, even if it asks for nothing. Entries are the controller's own, so they vouch for a request.
   */
  async function isForged(request: PodListeners, readPod: () => Promise<Pod | undefined>, signal: AbortSignal): Promise<boolean> {
    if (genuine.has(request.metadata.uid) || Object.keys(request.spec.listeners).length > 0) return false;
    const asker = checkAsker(request, await readPod());
    if (asker.ok) genuine.add(request.metadata.uid);
    else if (asker.isForged) await reject(request, asker.waiting, signal);
    return !asker.ok && asker.isForged;
  }

  function podOf(request: PodListeners, signal: AbortSignal): Promise<Pod | undefined> {
    const { namespace = '' } = request.metadata;
    return client.find(pods, { namespace, name: ownerOf(request)?.name ?? '-' }, { signal });
  }

  /**
   * An object that an earlier system left behind has addresses, but names no node and no mounts, so nobody follows it.
   * What is missing is read off the pod.
   */
  async function adopt(
    request: PodListeners,
    key: KeyString,
    readPod: () => Promise<Pod | undefined>,
    signal: AbortSignal,
  ): Promise<undefined> {
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
      return {
        handle,
        waiting: { reason: 'Refused', message: `The API server refuses what this volume needs: ${error.message}` },
        retry: error,
      };
    }
  }

  async function stateOf(
    request: PodListeners,
    handle: string,
    readPod: () => Promise<Pod | undefined>,
    signal: AbortSignal,
  ): Promise<MountState> {
    const wait = (reason: ConditionReason, message: string): MountState => ({ handle, waiting: { reason, message } });
    const id = idOf(request, handle);
    const progress = underway.get(id) ?? { since: options.clock() };
    underway.set(id, progress);
    const volume = caches.volumes.by('handle', handle)[0];
    if (volume === undefined) return wait('VolumeNotFound', `No PersistentVolume has the volume handle ${handle}.`);
    const target = targetOf(volume);
    if (target === undefined) {
      return wait(
        'VolumeNotBound',
        `PersistentVolume ${volume.metadata.name} is not bound to a claim, or names neither a Listener nor a class.`,
      );
    }
    const refused = refuseName(target.name);
    if (refused !== undefined) return { handle, waiting: refused };
    const known = view.listeners.get(`${target.namespace}/${target.name}`);
    const done = Object.entries(request.spec.listeners).filter(([, entry]) => entry.volumeHandle === handle);
    if (known !== undefined && done.length > 0 && done.every(([, entry]) => entry.listenerUid === known.metadata.uid)) {
      return entriesFor(
        request,
        handle,
        known,
        done.map(([name]) => name),
      );
    }
    if (known !== undefined && progress.prepared?.listenerUid === known.metadata.uid && progress.prepared !== undefined) {
      return entriesFor(request, handle, known, progress.prepared.volumes);
    }
    const pod = await readPod();
    const check = checkMount(request, pod, volume);
    if (!check.ok) return { handle, waiting: check.waiting };
    if (pod === undefined) return wait('PodNotFound', 'The pod does not exist any more.');
    const listener = target.kind === 'named' ? known : await preparation.ensureListener(target, known, volume, pod, signal);
    if (listener === undefined) {
      return wait(
        'ListenerNotFound',
        `Listener ${target.namespace}/${target.name} does not exist. Create it, or correct the claim's annotation (in a new claim).`,
      );
    }
    if ('waiting' in listener) return { handle, waiting: listener.waiting };
    await preparation.label(listener, volume, pod, signal);
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
    answers.warn(request, why.reason, why.message);
    const { namespace = '', name = '', uid } = request.metadata;
    await client.delete(podListeners, { namespace, name }, { signal, ...(uid === undefined ? {} : { uid }) });
  }

  /** Shows what has been waited for longer than a moment; resolves with when to look again at what has not. */
  async function showWaiting(
    request: PodListeners,
    key: KeyString,
    states: readonly MountState[],
    signal: AbortSignal,
  ): Promise<{ requeueAfter: number } | undefined> {
    const shown = new Map<string, Waiting | undefined>();
    let next = Number.POSITIVE_INFINITY;
    for (const state of states) {
      const id = idOf(request, state.handle);
      if ('entries' in state) {
        underway.delete(id);
        shown.set(state.handle, undefined);
        continue;
      }
      const allowed = stages.has(state.waiting.reason) ? longPatience : patience;
      const left = (underway.get(id)?.since ?? 0) + allowed - options.clock();
      if (left > 0) next = Math.min(next, left);
      else shown.set(state.handle, state.waiting);
    }
    await answers.writeWaiting(request, key, shown, signal);
    return Number.isFinite(next) ? { requeueAfter: next } : undefined;
  }
}

function idOf(request: PodListeners, handle: string): string {
  return `${request.metadata.uid}/${handle}`;
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= read());
}
