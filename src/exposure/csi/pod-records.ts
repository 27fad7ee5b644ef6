import { mkdir, readdir, readlink, symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../files/errno.ts';
import { isLabel, isResourceName } from '../../text/names.ts';
import type { PodIdentity } from './publish-request.ts';

/**
 * Maps the pods with volumes on this node to name and namespace: a pod's folder contains only its UID.
 * Each record is a dangling symbolic link, named after the UID, with target `NAMESPACE/NAME`. Links are created atomically, so a
 * crash leaves no partial record. They are in the driver's own folder, which pods cannot reach.
 */
export class PodRecords {
  readonly #folder: string;
  readonly #pods: Map<string, PodIdentity>;

  private constructor(folder: string, pods: Map<string, PodIdentity>) {
    this.#folder = folder;
    this.#pods = pods;
  }

  /** Reads the records of an earlier process. Entries that are not records are removed to free their names. */
  static async open(folder: string): Promise<PodRecords> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const pods = new Map<string, PodIdentity>();
    for (const uid of await readdir(folder)) {
      const pod = parse(uid, await readlink(join(folder, uid)).catch(() => ''));
      if (pod !== undefined) pods.set(uid, pod);
      else await ignoring(['ENOENT', 'EISDIR', 'EPERM'], () => unlink(join(folder, uid)));
    }
    return new PodRecords(folder, pods);
  }

  uids(): Iterable<string> {
    return this.#pods.keys();
  }

  get(uid: string): PodIdentity | undefined {
    return this.#pods.get(uid);
  }

  /**
   * Records the pod. No-op if it is recorded already. A pod's name and namespace never change, so a different record is wrong and
   * is replaced.
   */
  async add(pod: PodIdentity): Promise<void> {
    const known = this.#pods.get(pod.uid);
    if ((known !== undefined && textOf(known) === textOf(pod)) || parse(pod.uid, textOf(pod)) === undefined) return;
    if (known !== undefined) await this.remove(pod.uid);
    await ignoring(['EEXIST'], () => symlink(textOf(pod), join(this.#folder, pod.uid)));
    this.#pods.set(pod.uid, pod);
  }

  async remove(uid: string): Promise<void> {
    if (this.#pods.delete(uid)) await ignoring(['ENOENT'], () => unlink(join(this.#folder, uid)));
  }
}

function textOf({ namespace, name }: PodIdentity): string {
  return `${namespace}/${name}`;
}

function parse(uid: string, text: string): PodIdentity | undefined {
  const [namespace = '', name = '', ...rest] = text.split('/');
  return isLabel(uid) && isLabel(namespace) && isResourceName(name) && rest.length === 0 ? { namespace, name, uid } : undefined;
}

async function ignoring(codes: readonly string[], act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!hasCode(error, ...codes)) throw error;
  }
}
