import { setTimeout as delay } from 'node:timers/promises';
import type { PodListeners } from '../../api/listeners/index.ts';
import { podListenersName } from '../../api/listeners/names.ts';
import type { Cache } from '../../kube/contract.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { counter, gauge } from '../../telemetry/metrics.ts';
import { hasCode } from '../../files/errno.ts';
import { Directory } from './directory.ts';
import { CsiError } from './errors.ts';
import { entryOf, findPodListeners, type Volume } from './volume-entry.ts';
import { removeContent } from './remove-content.ts';
import { InTurn } from '../../work/in-turn.ts';
import { MOUNT, type Target } from './target-path.ts';
import { treeOf } from './tree.ts';
import { writeTree } from './tree-writer.ts';

const publishedVolumes = gauge('earshot_csi_published_volumes', 'Listener volumes that pods on this node have.');
const treeWrites = counter('earshot_csi_tree_writes_total', 'Volumes looked at after a mount or a change of addresses.', ['result']);

export interface PublishedOptions {
  /** The PodListeners of this node. */
  readonly podListeners: Cache<PodListeners>;
  readonly log: Logger;
  /** Ends the following of changes. */
  readonly signal: AbortSignal;
}

/**
 * The volumes that pods on this node have, each kept equal to its entry in PodListeners.
 *
 * Changes of one volume are written one after another, and those that come meanwhile become one. Where the addresses
 * go away altogether, the files stay as they were: a pod can do more with an address that was right than with none.
 */
export interface Published {
  /** Writes the volume and follows its entry from then on. On failure nothing is left of a volume that was not there before. */
  publish(volume: Volume): Promise<void>;
  /** Removes the volume's folder; nothing happens where there is none. */
  unpublish(target: Target): Promise<void>;
  /** Follows volumes that are on the disk already, from the next change or `refreshAll` on. */
  follow(volumes: readonly Volume[]): void;
  /** Compares every volume with its entry, once the cache is whole. */
  refreshAll(): void;
  /** Resolves once nothing is being written. */
  idle(): Promise<void>;
}

/** Between two writes of one volume, so that a reader of the last but one state has time to finish. */
const REST_MILLISECONDS = 200;
const RETRY_MILLISECONDS = { base: 1_000, max: 60_000 } as const;

interface Followed {
  volume: Volume;
  isStale: boolean;
  isRunning: boolean;
}

export function createPublished({ podListeners: cache, log, signal }: PublishedOptions): Published {
  const turns = new InTurn();
  /** By target path. */
  const followed = new Map<string, Followed>();
  /** Target paths by name of the pod's PodListeners. */
  const byName = new Map<string, Set<string>>();

  const stop = cache.onChange(({ type, object }) => {
    // As long as the cache is not whole, it may hold the wrong one of two objects: `refreshAll` follows.
    if (type === 'deleted' || !cache.isSynced) return;
    for (const path of byName.get(object.metadata.name ?? '') ?? []) {
      const one = followed.get(path);
      if (one !== undefined) refresh(one);
    }
  });
  signal.addEventListener('abort', stop, { once: true });

  function add(volume: Volume): Followed {
    // The same one stays, since a write of it may be under way.
    const one = followed.get(volume.target.path) ?? { volume, isStale: false, isRunning: false };
    one.volume = volume;
    followed.set(volume.target.path, one);
    const name = podListenersName(volume.target.podUid);
    byName.set(name, (byName.get(name) ?? new Set()).add(volume.target.path));
    publishedVolumes.set(followed.size);
    return one;
  }

  function remove({ path, podUid }: Target): void {
    followed.delete(path);
    const name = podListenersName(podUid);
    const paths = byName.get(name);
    paths?.delete(path);
    if (paths?.size === 0) byName.delete(name);
    publishedVolumes.set(followed.size);
  }

  function refresh(one: Followed): void {
    one.isStale = true;
    if (!one.isRunning && !signal.aborted) void keepFresh(one);
  }

  /** Writes until nothing new has come meanwhile, or the volume is gone. Never rejects. */
  async function keepFresh(one: Followed): Promise<void> {
    const { path } = one.volume.target;
    const isFollowed = (): boolean => followed.get(path) === one && !signal.aborted;
    one.isRunning = true;
    let pause = 0;
    while (one.isStale && isFollowed()) {
      one.isStale = false;
      try {
        const result = await turns.run(path, async () => (isFollowed() ? write(one.volume) : 'unchanged'));
        treeWrites.inc({ result });
        if (result === 'kept') log.info(describe(one.volume), 'no address at the moment; the files in the pod stay as they are');
        pause = result === 'changed' ? REST_MILLISECONDS : 0;
      } catch (error) {
        treeWrites.inc({ result: 'error' });
        // What cannot be a file name today cannot be one in a minute: the next change of the entry decides.
        one.isStale ||= !(error instanceof CsiError);
        pause = one.isStale ? Math.min(Math.max(pause * 2, RETRY_MILLISECONDS.base), RETRY_MILLISECONDS.max) : 0;
        log.error(
          { ...describe(one.volume), error, retryAfterMilliseconds: pause },
          'the files in the pod could not be brought up to date',
        );
      }
      if (pause > 0) await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
    one.isRunning = false;
  }

  async function write(volume: Volume): Promise<'changed' | 'unchanged' | 'kept'> {
    const object = findPodListeners(cache, volume);
    const entry = object === undefined ? undefined : entryOf(object, volume.handle);
    const tree = entry === undefined ? undefined : treeOf(entry);
    if (tree === undefined) return 'kept';
    await using folder = await openMount(volume.target);
    if (folder === undefined) {
      log.info(describe(volume), 'the volume is gone');
      remove(volume.target);
      return 'unchanged';
    }
    const { isChanged, leftBehind } = await writeTree(folder, tree);
    if (isChanged) log.info({ ...describe(volume), address: tree.primary }, 'the pod sees the address');
    if (leftBehind !== undefined) log.warn({ ...describe(volume), reason: messageOf(leftBehind) }, 'outdated files could not be removed');
    return isChanged ? 'changed' : 'unchanged';
  }

  return {
    publish: (volume) =>
      turns.run(volume.target.path, async () => {
        const isNew = await makeMount(volume.target);
        // First followed, then written: a change that comes in between is not lost.
        add(volume);
        try {
          const result = await write(volume);
          treeWrites.inc({ result });
          if (result === 'kept') throw new CsiError('csi-waiting', `Volume ${volume.handle} has just lost its address.`);
        } catch (error) {
          if (isNew) {
            remove(volume.target);
            await removeMount(volume.target).catch((problem: unknown) =>
              log.warn({ ...describe(volume), error: problem }, 'could not clean up'),
            );
          }
          throw error;
        }
      }),
    unpublish: (target) =>
      turns.run(target.path, async () => {
        remove(target);
        await removeMount(target);
      }),
    follow: (volumes) => volumes.forEach(add),
    refreshAll: () => followed.forEach(refresh),
    idle: () => turns.idle(),
  };
}

/** Whether it was not there. The kubelet has made the folder around it. */
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

/** Undefined where it is not there. */
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

function describe({ handle, target, namespace }: Volume): Readonly<Record<string, unknown>> {
  return { volume: handle, podUid: target.podUid, ...(namespace === undefined ? {} : { namespace }) };
}
