/** Prepares a mount before it can be answered: its Listener, and the labels by which traffic finds the pod. */
import { LISTENER_NAMESPACE_LABEL, LISTENER_NAME_LABEL, POD_LABEL_PREFIX, podLabelOf } from '../../api/listeners/names.ts';
import { listeners, type Listener } from '../../api/listeners/index.ts';
import type { Cache, KubeClient } from '../../kube/contract.ts';
import { keyOf, parseKey } from '../../kube/key.ts';
import type { KubeObject, OwnerReference, PersistentVolume, PersistentVolumeClaim, Pod } from '../../kube/objects.ts';
import { persistentVolumes, pods, type Resource } from '../../kube/resource.ts';
import type { WriteThroughCache } from '../../kube/watch/write-through-cache.ts';
import type { ClusterCaches } from '../cluster/caches.ts';
import type { VolumeTarget } from '../cluster/volumes.ts';
import { checkClaim, isListenerCurrent, isOwnedByVolume, planOwnership, planVolumeListener, type Waiting } from './mount-plan.ts';

export class MountPreparation {
  readonly #client: KubeClient;
  readonly #listeners: WriteThroughCache<Listener>;
  readonly #volumes: Pick<Cache<PersistentVolume>, 'get'>;

  constructor(client: KubeClient, caches: Pick<ClusterCaches, 'listeners' | 'volumes'>) {
    this.#client = client;
    this.#listeners = caches.listeners;
    this.#volumes = caches.volumes;
  }

  /** The Listener of the volume. If the volume names a class, the Listener is created or updated. */
  async listenerOf({ target, known, ...mounted }: Mounted, signal: AbortSignal): Promise<Listener | { readonly waiting: Waiting }> {
    if (target.kind === 'named') return known ?? { waiting: notFound(target) };
    // The content of an unreadable Listener is unknown, so it is not overwritten.
    if (known?.unreadable !== undefined) return known;
    const { volume, claim, pod } = mounted;
    const isForeign = known !== undefined && !isOwnedByVolume(known, volume);
    const ownership = isForeign ? planOwnership(known, volume, (name) => this.#volumes.get(name)) : undefined;
    if (ownership !== undefined && 'waiting' in ownership) return ownership;
    const mismatch = checkClaim(claim, volume, pod);
    if (claim === undefined || mismatch !== undefined) return { waiting: mismatch ?? notFound(target) };
    const desired = planVolumeListener(target, { volume, claim, pod });
    const own = known === undefined || ownership === undefined ? known : await this.#adopt(known, ownership.owners, signal);
    if (own !== undefined && isListenerCurrent(desired, own)) return own;
    // If no Listener is known, it must not exist: no object has resource version 1, so an existing one causes a conflict.
    const precondition = own === undefined ? { resourceVersion: '1' } : { uid: own.metadata.uid ?? '' };
    const object = { ...desired, metadata: { ...desired.metadata, ...precondition } };
    const applied = await this.#client.apply(listeners, object, { signal });
    this.#listeners.wrote(applied);
    return applied;
  }

  /** The resource version makes the patch fail if another writer changed the owners. */
  async #adopt(listener: Listener, ownerReferences: readonly OwnerReference[], signal: AbortSignal): Promise<Listener> {
    const { uid, resourceVersion } = listener.metadata;
    const patch = { metadata: { uid, resourceVersion, ownerReferences } };
    const adopted = await this.#client.patch(listeners, parseKey(keyOf(listener)), patch, { type: 'merge', signal });
    this.#listeners.wrote(adopted);
    return adopted;
  }

  /** Labels the volume with its Listener, and the pod for the selector of the Service. */
  async label(listener: Listener, { volume, pod }: Pick<Mounted, 'volume' | 'pod'>, signal: AbortSignal): Promise<void> {
    const { namespace = '', name = '', uid = '' } = listener.metadata;
    const ofVolume = { [LISTENER_NAMESPACE_LABEL]: namespace, [LISTENER_NAME_LABEL]: name };
    const ofPod = podLabels(pod, { name, uid });
    await Promise.all([this.#label(persistentVolumes, volume, ofVolume, signal), this.#label(pods, pod, ofPod, signal)]);
  }

  /** The UID makes the patch fail on a new object of the same name. */
  async #label<T extends KubeObject>(of: Resource<T>, object: T, labels: LabelPatch, signal: AbortSignal): Promise<void> {
    const { metadata } = object;
    if (Object.entries(labels).every(([key, value]) => (metadata.labels?.[key] ?? null) === value)) return;
    await this.#client.patch(of, parseKey(keyOf(object)), { metadata: { uid: metadata.uid, labels } }, { type: 'merge', signal });
  }
}

type LabelPatch = Readonly<Record<string, string | null>>;

/** The label by which the Service selects the pod. Labels of earlier Listeners of this name are removed. */
export function podLabels({ metadata }: Pod, listener: { readonly name: string; readonly uid: string }): LabelPatch {
  const [key, value] = podLabelOf(listener);
  const stale = Object.entries(metadata.labels ?? {}).filter(
    ([other, name]) => other.startsWith(POD_LABEL_PREFIX) && other !== key && name === value,
  );
  return { [key]: value, ...Object.fromEntries(stale.map(([other]) => [other, null])) };
}

/** A volume and a pod that mounts it. */
export interface Mounted {
  readonly volume: PersistentVolume;
  readonly target: VolumeTarget;
  readonly pod: Pod;
  /** The claim that the volume is bound to; not read if the volume names a Listener. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** The Listener of the target, if it exists. */
  readonly known: Listener | undefined;
}

function notFound({ namespace, name }: VolumeTarget): Waiting {
  const remedy = "Create it, or correct the claim's annotation (in a new claim).";
  return { reason: 'ListenerNotFound', message: `Listener ${namespace}/${name} does not exist. ${remedy}` };
}
