import type { PodListeners } from '../../api/listeners/index.ts';
import { entryOf, isEnding } from '../../api/listeners/mount-status.ts';
import { podListenersName } from '../../api/listeners/names.ts';
import type { Cache } from '../../kube/contract.ts';
import type { PublishedVolumes } from './published-volumes.ts';
import { findPodListeners, type Volume } from './volume-entry.ts';
import type { Target } from './target-path.ts';

/**
 * The volumes that the kubelet requested from this driver, by pod. With it a waiting mount notices when the kubelet needs the
 * volume for another pod. The kubelet runs one operation at a time on a volume (docs/adr/0020-waiting-mounts.md).
 */
export class VolumeUses {
  readonly #podListeners: Cache<PodListeners>;
  readonly #published: Pick<PublishedVolumes, 'ofHandle' | 'ofPod'>;
  /** Requested volumes that were not unpublished since, by target path. The kubelet may have to unmount them. */
  readonly #asked = new Map<string, Volume>();
  /** Target paths of unpublished volumes whose pod still has its PodListeners, by name of that object. */
  readonly #unpublished = new Map<string, Set<string>>();

  constructor(podListeners: Cache<PodListeners>, published: Pick<PublishedVolumes, 'ofHandle' | 'ofPod'>) {
    this.#podListeners = podListeners;
    this.#published = published;
    podListeners.onChange(({ type, object }) => {
      if (type === 'deleted') this.#unpublished.delete(object.metadata.name ?? '');
    });
  }

  ask(volume: Volume): void {
    this.#asked.set(volume.target.path, volume);
    this.#unpublished.get(podListenersName(volume.target.podUid))?.delete(volume.target.path);
  }

  /** Records that the kubelet considers the mount failed, so it will not unmount it. */
  fail({ path }: Target): void {
    this.#asked.delete(path);
  }

  unpublish({ path, podUid }: Target): void {
    this.#asked.delete(path);
    const name = podListenersName(podUid);
    this.#unpublished.set(name, (this.#unpublished.get(name) ?? new Set()).add(path));
  }

  /** Why the kubelet needs this volume for another pod; undefined if it does not. */
  findConflict({ handle, target }: Volume): string | undefined {
    for (const other of [...this.#asked.values(), ...this.#published.ofHandle(handle)]) {
      if (other.handle !== handle || other.target.podUid === target.podUid || other.pod === undefined) continue;
      const object = findPodListeners(this.#podListeners, other);
      if (object !== undefined && !isEnding(object, handle)) continue;
      return `Pod ${other.pod.namespace}/${other.pod.name} of the same claim ends, so its volume is unmounted first.`;
    }
    const ready = [...this.#podListeners.values()].find((object) => this.#canBeMounted(object, handle, target));
    if (ready === undefined) return undefined;
    return `Another pod of the same claim (${ready.metadata.namespace}/${ready.metadata.name}) has its address and is mounted first.`;
  }

  #canBeMounted(object: PodListeners, handle: string, { podUid }: Target): boolean {
    const { name = '' } = object.metadata;
    if (name === podListenersName(podUid) || isEnding(object, handle)) return false;
    if ((this.#unpublished.get(name)?.size ?? 0) > 0 || !Object.hasOwn(object.spec.mounts ?? {}, handle)) return false;
    const isPublished = this.#published.ofPod(name).some((volume) => volume.handle === handle);
    return !isPublished && (entryOf(object, handle)?.ingressAddresses ?? []).length > 0;
  }
}
