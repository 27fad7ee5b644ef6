import { entryDigest } from '../../api/listeners/entry-digest.ts';
import type { PodListeners } from '../../api/listeners/index.ts';
import { entryOf } from '../../api/listeners/mount-status.ts';
import type { Cache, Change } from '../../kube/contract.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { counter, gauge } from '../../telemetry/metrics.ts';
import { hasCode } from '../../files/errno.ts';
import { Directory } from './directory.ts';
import { CsiError } from './errors.ts';
import { findPodListeners, type Volume } from './volume-entry.ts';
import { removeContent } from './remove-content.ts';
import type { Backoff } from '../../work/backoff.ts';
import { KeyedMutex } from '../../work/keyed-mutex.ts';
import { pause } from '../../work/pause.ts';
import { WorkQueue } from '../../work/queue.ts';
import { MOUNT, type Target } from './target-path.ts';
import { pathsOf, treeOf } from './tree.ts';
import { writeTree } from './tree-writer.ts';
import { VolumeIndex } from './volume-index.ts';

const publishedVolumes = gauge('earshot_csi_published_volumes', 'Number of listener volumes of pods on this node.');
const staleVolumes = gauge('earshot_csi_volumes_stale', 'Number of volumes whose files could not be updated to the present addresses.');
const treeWrites = counter('earshot_csi_tree_writes_total', 'Volumes checked after a mount or a change of addresses.', ['result']);

export interface PublishedOptions {
  /** The PodListeners of this node. */
  readonly podListeners: Cache<PodListeners>;
  readonly log: Logger;
  /** Stops following changes when aborted. */
  readonly signal: AbortSignal;
  /** Backoff for volumes that cannot be written. */
  readonly backoff?: Backoff;
}

/** State of a volume for administrators. It names no pod, since the port that shows it has no authentication. */
export interface VolumeReport {
  /** UID of the pod. */
  readonly pod: string;
  readonly volume: string;
  /** Digest of the entry in PodListeners to which the files were last updated; absent until then. */
  readonly hash?: string;
  /** Time of that, RFC 3339. After a restart, files that are current count as written. */
  readonly writtenAt?: string;
  /** Whether the last update failed. */
  readonly stale: boolean;
}

/** Milliseconds between two writes of one volume, so that a reader of the state before the previous one can finish. */
const REST_MILLISECONDS = 200;
const BACKOFF: Backoff = { first: 1_000, max: 60_000 };
/** More than the volumes of a node, so that they do not wait for each other. */
const CONCURRENCY = 1_000;

/**
 * The volumes of the pods on this node, each kept up to date with its entry in PodListeners.
 * Changes of one volume are written in order; changes during a write are coalesced. If all addresses are removed, the files stay:
 * a former address is more useful to a pod than none.
 */
export class PublishedVolumes {
  readonly #cache: Cache<PodListeners>;
  readonly #log: Logger;
  readonly #turns = new KeyedMutex();
  /** Followed volumes by target path, which is also the key of the queue. */
  readonly #followed = new VolumeIndex();
  readonly #changed: WorkQueue;
  /** Target paths of volumes whose last update failed. */
  readonly #stale = new Set<string>();
  /** State of the files by target path. */
  readonly #written = new Map<string, { readonly hash: string; readonly writtenAt: string }>();

  constructor({ podListeners, log, signal, backoff = BACKOFF }: PublishedOptions) {
    this.#cache = podListeners;
    this.#log = log;
    staleVolumes.set(0);
    const reconcile = (path: string, stopping: AbortSignal): Promise<undefined> => this.#refresh(path, stopping);
    this.#changed = new WorkQueue({ name: 'volumes', log, reconcile, concurrency: CONCURRENCY, backoff });
    const stopFollowing = podListeners.onChange((change) => this.#onChange(change));
    const stop = (): void => {
      stopFollowing();
      void this.#changed.stop(0);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  }

  /** Writes the volume and then follows its entry. On failure, a volume that did not exist before is removed again. */
  publish(volume: Volume): Promise<void> {
    return this.#turns.run(volume.target.path, async () => {
      const isNew = await makeMount(volume.target);
      // Followed before it is written, so that no change in between is lost.
      this.#follow(volume);
      try {
        const result = await this.#write(volume);
        treeWrites.inc({ result });
        this.#setStale(volume.target.path, false);
        if (result === 'kept') throw new CsiError('csi-waiting', `Volume ${volume.handle} has just lost its address.`);
      } catch (error) {
        if (isNew) await this.#takeBack(volume);
        throw error;
      }
    });
  }

  /** Removes the volume's folder. No-op if absent. */
  unpublish(target: Target): Promise<void> {
    return this.#turns.run(target.path, async () => {
      this.#forget(target);
      await removeMount(target);
    });
  }

  /** Whether the volume is followed because it was published or found. */
  has(path: string): boolean {
    return this.#followed.get(path) !== undefined;
  }

  ofHandle(handle: string): readonly Volume[] {
    return this.#followed.ofHandle(handle);
  }

  /** Volumes of a pod by the name of its PodListeners. */
  ofPod(name: string): readonly Volume[] {
    return this.#followed.ofPod(name);
  }

  reports(): readonly VolumeReport[] {
    return [...this.#followed.paths()].flatMap((path) => {
      const { target, handle } = this.#followed.get(path) ?? {};
      if (target === undefined || handle === undefined) return [];
      return [{ pod: target.podUid, volume: handle, ...this.#written.get(path), stale: this.#stale.has(path) }];
    });
  }

  /** Follows volumes that are on disk already, starting with the next change or `refreshAll`. */
  follow(volumes: readonly Volume[]): void {
    for (const volume of volumes) this.#follow(volume);
  }

  /** Enqueues every volume for comparison with its entry. Called once the cache is synced. */
  refreshAll(): void {
    for (const path of this.#followed.paths()) this.#changed.add(path);
  }

  /** Resolves when no write is in progress. */
  idle(): Promise<void> {
    return this.#turns.idle();
  }

  #onChange({ type, object }: Change<PodListeners>): void {
    // Before the first list is complete, the cache may hold the wrong one of two objects. `refreshAll` follows.
    if (type === 'deleted' || !this.#cache.isSynced) return;
    for (const { target } of this.#followed.ofPod(object.metadata.name ?? '')) this.#changed.add(target.path);
  }

  #follow(volume: Volume): void {
    this.#followed.set(volume);
    publishedVolumes.set(this.#followed.size);
  }

  #forget(target: Target): void {
    this.#followed.delete(target);
    this.#written.delete(target.path);
    publishedVolumes.set(this.#followed.size);
    this.#setStale(target.path, false);
  }

  #setStale(path: string, isStale: boolean): void {
    if (isStale && this.has(path)) this.#stale.add(path);
    else this.#stale.delete(path);
    staleVolumes.set(this.#stale.size);
  }

  async #takeBack(volume: Volume): Promise<void> {
    this.#forget(volume.target);
    try {
      await removeMount(volume.target);
    } catch (error) {
      this.#log.warn({ ...describe(volume), error }, 'could not clean up');
    }
  }

  async #refresh(path: string, stopping: AbortSignal): Promise<undefined> {
    const volume = this.#followed.get(path);
    if (volume === undefined) return;
    try {
      const result = await this.#turns.run(path, async () => (this.has(path) ? this.#write(volume) : 'unchanged'));
      treeWrites.inc({ result });
      this.#setStale(path, false);
      if (result === 'kept') this.#log.info(describe(volume), 'no address at the moment; the files in the pod stay unchanged');
      if (result === 'changed') await pause(REST_MILLISECONDS, stopping).catch(() => undefined);
    } catch (error) {
      treeWrites.inc({ result: 'error' });
      this.#setStale(path, true);
      this.#log.error({ ...describe(volume), error }, 'the files in the pod could not be updated');
      // A name that cannot be a file name stays invalid, so only the next change of the entry triggers a retry.
      if (!(error instanceof CsiError)) throw error;
    }
  }

  async #write(volume: Volume): Promise<'changed' | 'unchanged' | 'kept'> {
    const object = findPodListeners(this.#cache, volume);
    const entry = object === undefined ? undefined : entryOf(object, volume.handle);
    const tree = entry === undefined ? undefined : treeOf(entry);
    if (entry === undefined || tree === undefined) return 'kept';
    await using folder = await openMount(volume.target);
    if (folder === undefined) {
      this.#log.info(describe(volume), 'the volume was removed');
      this.#forget(volume.target);
      return 'unchanged';
    }
    const { isChanged, leftBehind } = await writeTree(folder, tree, { keepsFolders: await hasSubPaths(volume.target) });
    const hash = entryDigest(entry);
    const before = this.#written.get(volume.target.path);
    if (this.has(volume.target.path) && (isChanged || before?.hash !== hash))
      this.#written.set(volume.target.path, { hash, writtenAt: new Date().toISOString() });
    if (isChanged && this.#log.isLevelEnabled('debug')) this.#log.debug({ ...describe(volume), files: pathsOf(tree) }, 'files written');
    if (isChanged) this.#log.info({ ...describe(volume), address: tree.primary }, 'the pod sees the address');
    if (leftBehind !== undefined) {
      this.#log.warn({ ...describe(volume), reason: messageOf(leftBehind) }, 'outdated files could not be removed');
    }
    return isChanged ? 'changed' : 'unchanged';
  }
}

/** Creates the volume's folder; the kubelet has created its parent. Returns false if it existed. */
async function makeMount(target: Target): Promise<boolean> {
  await using parent = await Directory.open(target.parent);
  try {
    await using _made = await parent.makeFolder(MOUNT);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Whether a container of the pod mounts part of the volume by subPath. The kubelet creates the folder before the mount. */
async function hasSubPaths(target: Target): Promise<boolean> {
  try {
    await using _folder = await Directory.open(target.subPaths);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Undefined if absent. */
async function openMount(target: Target): Promise<Directory | undefined> {
  try {
    return await Directory.open(target.path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function removeMount(target: Target): Promise<void> {
  try {
    await using parent = await Directory.open(target.parent);
    if ((await parent.kindOf(MOUNT)) === 'folder') {
      await using mount = await parent.openFolder(MOUNT);
      await removeContent(mount);
      await parent.removeFolder(MOUNT);
    } else {
      await parent.removeFile(MOUNT);
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function describe({ handle, target, pod }: Volume): Readonly<Record<string, unknown>> {
  return { volume: handle, podUid: target.podUid, ...(pod === undefined ? {} : { namespace: pod.namespace }) };
}
