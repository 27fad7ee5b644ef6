/**
 * Reconciles the mounts of one pod (one PodListeners). It creates the Listener if the volume names a class, labels volume and
 * pod, and writes the addresses, now and on changes. The entry is written last, so an entry means that all other steps are done.
 */
import { podListeners, type Listener, type PodListeners } from '../../api/listeners/index.ts';
import { isEnding } from '../../api/listeners/mount-status.ts';
import type { EventRecorder, KeyString, KubeClient } from '../../kube/contract.ts';
import type { ReconcileResult } from '../../work/reconcile.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import { isNamespaceTerminating, isRefusal, type ApiError } from '../../kube/errors.ts';
import { keyOf, parseKey } from '../../kube/key.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../kube/objects.ts';
import { withRefusalAdvice } from '../../kube/refusal.ts';
import { persistentVolumeClaims, pods } from '../../kube/resource.ts';
import type { ClusterCaches } from '../cluster/caches.ts';
import { preferenceOf } from '../listeners/addresses.ts';
import { RepairDelayed } from '../listeners/damped-writes.ts';
import { checkKept } from '../listeners/definition-outdated.ts';
import { refuseName } from '../listeners/service-plan.ts';
import { MountAnswers, type MountState } from './mount-answers.ts';
import { checkAsker, checkClaim, checkMount, endOf, ownerOf, planEntry, requestOf, type Waiting } from './mount-plan.ts';
import { claimsOf, requestKeyOf } from '../cluster/starting-pods.ts';
import { findUnreadable, unreadableText } from '../cluster/readable.ts';
import { targetOf } from '../cluster/volumes.ts';
import { MountPreparation, type Mounted } from './mount-preparation.ts';
import { MountProgress, type Prepared } from './mount-progress.ts';

export interface MountReconcilerOptions {
  readonly client: KubeClient;
  readonly caches: ClusterCaches;
  readonly events: EventRecorder;
  /** Clock in milliseconds, monotonic. */
  readonly clock: () => number;
}

/** State of one reconcile of a request. */
interface Visit {
  readonly request: PodListeners;
  /** Reads the pod from the API server when needed, at most once. */
  readonly readPod: () => Promise<Pod | undefined>;
  readonly readClaim: (volume: PersistentVolume) => Promise<PersistentVolumeClaim | undefined>;
  readonly signal: AbortSignal;
}

export class MountReconciler {
  readonly #options: MountReconcilerOptions;
  readonly #preparation: MountPreparation;
  readonly #answers: MountAnswers;
  readonly #progress: MountProgress;
  /** UIDs of requests whose pod was seen on the requesting node. */
  readonly #genuine = new Set<string | undefined>();

  constructor(options: MountReconcilerOptions) {
    const { client, caches, events, clock } = options;
    this.#options = options;
    this.#preparation = new MountPreparation(client, caches);
    this.#answers = new MountAnswers(client, events, caches.podListeners);
    this.#progress = new MountProgress(clock);
    caches.podListeners.onChange(({ type, object }) => {
      if (type !== 'deleted') return;
      this.#genuine.delete(object.metadata.uid);
      this.#progress.forget(keyOf(object));
    });
    caches.startingPods.onChange(({ type, object }) => {
      if (type === 'deleted') this.#removeGone(requestKeyOf(object));
    });
  }

  /**
   * Removes the progress of a deleted pod and request. Also called after each reconcile, during which both may have been deleted.
   */
  #removeGone(key: KeyString): void {
    const { caches } = this.#options;
    const isGone = caches.podListeners.get(key) === undefined && caches.startingPods.by('request', key).length === 0;
    if (isGone) this.#progress.forget(key);
  }

  /** A refusal of the API server is first written to the status, then rejected, so that the queue retries with backoff. */
  async reconcile(key: KeyString, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    try {
      return await this.#scan(key, signal);
    } finally {
      this.#removeGone(key);
    }
  }

  async #scan(key: KeyString, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const request = this.#options.caches.podListeners.get(key);
    if (request === undefined) return this.#prepareAhead(key, signal);
    if (request.metadata.deletionTimestamp !== undefined) return undefined;
    const unreadable = findUnreadable(request);
    if (unreadable !== undefined) {
      this.#answers.warn(request, 'Invalid', unreadableText(`PodListeners ${key}`, unreadable));
      return undefined;
    }
    const visit = this.#visit(request, signal);
    if (request.spec.nodeName === undefined) return this.#adopt(visit);
    if (await this.#isForged(visit)) return undefined;
    const states: MountState[] = [];
    for (const handle of Object.keys(request.spec.mounts ?? {})) states.push(await this.#stateOrRefusal(visit, handle));
    const current = await this.#answers.writeEntries(request, states, signal);
    const { shown, next } = this.#progress.update(current, states);
    await this.#answers.writeWaiting(current, shown, signal);
    for (const state of states) if ('refusal' in state) throw state.refusal;
    return next === undefined ? undefined : { requeueAfter: next };
  }

  /**
   * Prepares a pod that has not started before its node requests the mount. It creates the Listener while the pod waits for a
   * node, and labels and addresses once it has one. The label also triggers the kubelet, which then retries at once if its first
   * sync came too early. Incomplete steps wait for the next change or the request.
   */
  async #prepareAhead(key: KeyString, signal: AbortSignal): Promise<undefined> {
    const { caches } = this.#options;
    const [pod] = caches.startingPods.by('request', key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    const volumes = claimsOf(pod)
      .flatMap((claim) => caches.volumes.by('claim', claim))
      .filter(({ status }) => status?.phase !== 'Released');
    if (volumes.length === 0) return;
    const request = requestOf(
      pod,
      volumes.map(({ spec }) => spec?.csi?.volumeHandle ?? ''),
    );
    const visit = this.#visit(request, signal);
    const states: MountState[] = [];
    for (const volume of volumes) states.push(await this.#stateAhead(visit, volume, pod));
    // For a volume that is not ready, the node sends a request and gets the reason. The other volumes are then answered with it.
    if (!states.every((state) => 'entries' in state)) return;
    try {
      await this.#answers.createAnswered(request, states, signal);
    } catch (error) {
      // No request exists yet whose status could show the refusal.
      if (isRefusal(error) && !isNamespaceTerminating(error)) this.#answers.warn(request, 'Refused', refusedMessage(error));
      throw error;
    }
  }

  /** The pod's spec proves that it mounts the claim; only the claim itself proves that the volume belongs to it. */
  async #stateAhead(visit: Visit, volume: PersistentVolume, pod: Pod): Promise<MountState> {
    const handle = volume.spec?.csi?.volumeHandle ?? '';
    const isChecked = this.#progress.prepared(visit.request, handle) !== undefined;
    const mismatch = isChecked ? undefined : checkClaim(await visit.readClaim(volume), volume, pod);
    return mismatch === undefined ? this.#stateOf(visit, handle) : { handle, waiting: mismatch };
  }

  #visit(request: PodListeners, signal: AbortSignal): Visit {
    const claims = new Map<string | undefined, Promise<PersistentVolumeClaim | undefined>>();
    const readClaim = ({ spec }: PersistentVolume): Promise<PersistentVolumeClaim | undefined> => {
      const { namespace = '', name = '' } = spec?.claimRef ?? {};
      const read = claims.get(name) ?? this.#options.client.find(persistentVolumeClaims, { namespace, name }, { signal });
      claims.set(name, read);
      return read;
    };
    return { request, signal, readClaim, readPod: once(() => this.#podOf(request, signal)) };
  }

  /**
   * Checks each new request, whatever it contains. One in the name of another node's pod prevents that node from creating its
   * own, even if it requests nothing. Only the controller writes entries, so a request with entries is genuine.
   */
  async #isForged({ request, readPod, signal }: Visit): Promise<boolean> {
    if (this.#genuine.has(request.metadata.uid) || Object.keys(request.spec.listeners).length > 0) return false;
    const asker = checkAsker(request, await readPod());
    const stands = this.#options.caches.podListeners.get(keyOf(request))?.metadata.uid === request.metadata.uid;
    if (asker.ok && stands) this.#genuine.add(request.metadata.uid);
    if (!asker.ok && asker.isForged) await this.#reject(request, asker.waiting, signal);
    return !asker.ok && asker.isForged;
  }

  /**
   * Deletes a request that a node made for a pod of another node, because the object would prevent the right node from
   * requesting.
   */
  async #reject(request: PodListeners, why: Waiting, signal: AbortSignal): Promise<void> {
    this.#answers.warn(request, why.reason, why.message);
    const { uid } = request.metadata;
    const options = { signal, ...(uid === undefined ? {} : { uid }) };
    await this.#options.client.delete(podListeners, parseKey(keyOf(request)), options);
  }

  async #podOf(request: PodListeners, signal: AbortSignal): Promise<Pod | undefined> {
    const { client, caches } = this.#options;
    const [starting] = caches.startingPods.by('request', keyOf(request));
    // A pod never moves. If the cached pod has no node, a request in its name shows that it may have one by now.
    if (starting !== undefined && (starting.spec?.nodeName !== undefined || request.metadata.uid === undefined)) return starting;
    const { namespace = '' } = request.metadata;
    return client.find(pods, { namespace, name: ownerOf(request)?.name ?? '-' }, { signal });
  }

  /**
   * Adopts an object of an earlier system. It has addresses but names neither node nor mounts, so no driver follows it. The
   * missing fields are derived from the pod.
   */
  async #adopt({ request, readPod, signal }: Visit): Promise<undefined> {
    const pod = await readPod();
    const nodeName = pod?.spec?.nodeName;
    if (pod === undefined || nodeName === undefined) return;
    const { client, caches } = this.#options;
    const target = { ...request, spec: { ...request.spec, nodeName } };
    const mounted = [...caches.volumes.values()].filter(
      (volume) => volume.spec?.claimRef?.namespace === request.metadata.namespace && checkMount(target, pod, volume).ok,
    );
    const mounts = Object.fromEntries(mounted.map((volume) => [volume.spec?.csi?.volumeHandle ?? '', {}]));
    const patch = { metadata: { uid: request.metadata.uid }, spec: { nodeName, mounts } };
    const written = await client.patch(podListeners, parseKey(keyOf(request)), patch, { type: 'merge', signal });
    caches.podListeners.wrote(written);
    checkKept('PodListeners', 'spec.nodeName', written.spec.nodeName !== undefined);
  }

  /** A refusal needs a fix by the user, and must not block the pod's other volumes. */
  async #stateOrRefusal(visit: Visit, handle: string): Promise<MountState> {
    try {
      this.#progress.begin(visit.request, handle);
      const [starting] = this.#options.caches.startingPods.by('request', keyOf(visit.request));
      const end = starting === undefined ? undefined : endOf(starting, visit.request);
      return end === undefined ? await this.#stateOf(visit, handle) : { handle, waiting: end };
    } catch (error) {
      if (error instanceof RepairDelayed) return { ...waitingFor(handle, 'ObjectContested', error.message), refusal: error };
      if (!isRefusal(error)) throw error;
      return { ...waitingFor(handle, 'Refused', refusedMessage(error)), refusal: error };
    }
  }

  async #stateOf(visit: Visit, handle: string): Promise<MountState> {
    const { request } = visit;
    const [volume] = this.#options.caches.volumes.by('handle', handle);
    if (volume === undefined) return waitingFor(handle, 'VolumeNotFound', `No PersistentVolume has the volume handle ${handle}.`);
    const target = targetOf(volume);
    if (target === undefined) {
      const what = `PersistentVolume ${volume.metadata.name} is not bound to a claim, or names neither a Listener nor a class.`;
      return waitingFor(handle, 'VolumeNotBound', what);
    }
    const refused = refuseName(target.name);
    if (refused !== undefined) return { handle, waiting: refused };
    const known = this.#options.caches.listeners.get(`${target.namespace}/${target.name}`);
    const before = this.#progress.prepared(request, handle);
    const prepared = before !== undefined && before.listenerUid === known?.metadata.uid ? before : undefined;
    const volumes = volumesAnswered(request, handle, known) ?? (prepared?.isLabelled === true ? prepared.volumes : undefined);
    if (known !== undefined && volumes !== undefined) return this.#entriesFor(request, handle, known, volumes);
    return this.#prepare(visit, handle, { volume, target, known, prepared });
  }

  async #prepare(
    visit: Visit,
    handle: string,
    { prepared, ...about }: Pick<Mounted, 'volume' | 'target' | 'known'> & { readonly prepared: Prepared | undefined },
  ): Promise<MountState> {
    const { request, readPod, readClaim, signal } = visit;
    const { volume, target, known } = about;
    const isPlaced = request.spec.nodeName !== undefined;
    // Changed ports of an existing Listener are written only when the pod is placed; an unplaced pod may never start.
    if (!isPlaced && known !== undefined) return waitingFor(handle, 'ListenerPending', NO_NODE);
    const isAsked = target.kind === 'class' && prepared === undefined;
    const [asked, claim] = await Promise.all([readPod(), isAsked ? readClaim(volume) : undefined]);
    const mounted = checkMount(request, asked, volume);
    if (!mounted.ok) return { handle, waiting: mounted.waiting };
    const { pod, volumes } = mounted;
    const isCurrent = known !== undefined && prepared !== undefined;
    const listener = isCurrent ? known : await this.#preparation.listenerOf({ ...about, pod, claim }, signal);
    if ('waiting' in listener) return { handle, waiting: listener.waiting };
    if (known !== undefined && listener !== known) this.#warnOfPorts(request, handle, { before: known, now: listener });
    if (isPlaced) await this.#preparation.label(listener, { volume, pod }, signal);
    this.#progress.setPrepared(request, handle, { listenerUid: listener.metadata.uid, volumes, isLabelled: isPlaced });
    if (!isPlaced) return waitingFor(handle, 'ListenerPending', NO_NODE);
    return this.#entriesFor(request, handle, listener, volumes);
  }

  /** Pods that share a claim share its Listener, which has the ports of the pod that started last. */
  #warnOfPorts(request: PodListeners, handle: string, { before, now }: { readonly before: Listener; readonly now: Listener }): void {
    const sharing = this.#options.caches.podListeners.by('handle', handle);
    const other = sharing.find((each) => keyOf(each) !== keyOf(request) && !isEnding(each, handle));
    if (other === undefined || portsText(before) === portsText(now)) return;
    const { namespace, name } = now.metadata;
    const changed = `Listener ${namespace}/${name} now has the ports of this pod (${portsText(now)}) instead of ${portsText(before)}.`;
    const remedy = `Pod ${ownerOf(other)?.name} shares the claim: if it is not being replaced, give each Deployment a claim of its own.`;
    this.#answers.warn(request, 'PortsReplaced', `${changed} ${remedy}`);
  }

  #entriesFor(request: PodListeners, handle: string, listener: Listener, volumes: readonly string[]): MountState {
    const { caches } = this.#options;
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
}

function portsText({ spec }: Listener): string {
  return (spec.ports ?? []).map(({ name, port }) => `${name} ${port}`).join(', ');
}

const NO_NODE = 'The pod has no node yet.';

/** Names of the pod's volumes that are answered already with this Listener. */
function volumesAnswered(request: PodListeners, handle: string, known: Listener | undefined): readonly string[] | undefined {
  const done = Object.entries(request.spec.listeners).filter(([, entry]) => entry.volumeHandle === handle);
  const isCurrent = done.length > 0 && done.every(([, entry]) => entry.listenerUid === known?.metadata.uid);
  return isCurrent ? done.map(([name]) => name) : undefined;
}

function refusedMessage(error: ApiError): string {
  return withRefusalAdvice(`The API server refuses an object that this volume needs: ${error.message}`, error);
}

function waitingFor(handle: string, reason: ConditionReason, message: string): { readonly handle: string; readonly waiting: Waiting } {
  return { handle, waiting: { reason, message } };
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= read());
}
