import { podListenersName } from '../../api/listeners/names.ts';
import type { Target } from './target-path.ts';
import type { Volume } from './volume-entry.ts';

/** Volumes of pods on this node, indexed by target path and by the name of their pod's PodListeners. */
export class VolumeIndex {
  readonly #byPath = new Map<string, Volume>();
  /** Target paths by name of the PodListeners. */
  readonly #byName = new Map<string, Set<string>>();

  get size(): number {
    return this.#byPath.size;
  }

  get(path: string): Volume | undefined {
    return this.#byPath.get(path);
  }

  ofHandle(handle: string): readonly Volume[] {
    return [...this.#byPath.values()].filter((volume) => volume.handle === handle);
  }

  paths(): Iterable<string> {
    return this.#byPath.keys();
  }

  names(): Iterable<string> {
    return this.#byName.keys();
  }

  ofPod(name: string): readonly Volume[] {
    return [...(this.#byName.get(name) ?? [])].flatMap((path) => this.#byPath.get(path) ?? []);
  }

  set(volume: Volume): void {
    const { path, podUid } = volume.target;
    this.#byPath.set(path, volume);
    const name = podListenersName(podUid);
    this.#byName.set(name, (this.#byName.get(name) ?? new Set()).add(path));
  }

  delete({ path, podUid }: Target): void {
    this.#byPath.delete(path);
    const name = podListenersName(podUid);
    const paths = this.#byName.get(name);
    paths?.delete(path);
    if (paths?.size === 0) this.#byName.delete(name);
  }
}
