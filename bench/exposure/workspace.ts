import { randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { listenerClasses, listeners, podListeners } from '../../src/api/listeners/index.ts';
import { ApiError } from '../../src/kube/errors.ts';
import {
  endpointSlices,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  resource,
  services,
  type Resource,
} from '../../src/kube/resource.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { eventually } from '../../test/harness/index.ts';
import { forEach, patience, secondsSince, type Ground } from '../cluster/load.ts';

const namespaces = resource<KubeObject>('v1', 'Namespace', 'namespaces', 'cluster');
export const statefulSets = resource<KubeObject>('apps/v1', 'StatefulSet', 'statefulsets');

/** Kubernetes goes on making them, deprecated as they are. */
const endpoints = resource<KubeObject>('v1', 'Endpoints', 'endpoints');

const PREFIX = 'bench-';

/**
 * A namespace of one round, and the ListenerClass of its name where a scenario makes one, so that no round finds what an
 * earlier one left. It stays when it is empty, and goes with the cluster: deleting one takes as long as a whole round.
 */
export class Workspace {
  readonly name: string;
  readonly #ground: Ground;

  private constructor(ground: Ground, name: string) {
    this.#ground = ground;
    this.name = name;
  }

  static async open(ground: Ground, purpose: string): Promise<Workspace> {
    const name = `${PREFIX}${purpose}-${randomBytes(3).toString('hex')}`;
    await ground.client.create(namespaces, { metadata: { name } });
    // Kubernetes puts a service account and a ConfigMap into every new namespace; they shall not fall into what is measured.
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await eventually(`the namespace ${name} to be furnished`, () => ground.cluster.api.find(account));
    return new Workspace(ground, name);
  }

  /** Removes everything from all of them, for any creator. */
  static async clearAll(ground: Ground): Promise<void> {
    for await (const {
      metadata: { name = '' },
    } of ground.client.list(namespaces)) {
      if (name.startsWith(PREFIX)) await new Workspace(ground, name).clear();
    }
  }

  /** Removes everything in it, and returns when it is gone and hardly anybody works on what it was. */
  async close(): Promise<void> {
    const start = performance.now();
    await this.clear();
    const cleared = secondsSince(start);
    const isSilent = await this.#silence();
    this.#ground.log(
      `  ${this.name} is empty after ${cleared.toFixed(1)} s, ${isSilent ? 'and' : 'but not'} forgotten after ${secondsSince(start).toFixed(1)} s`,
    );
  }

  /**
   * Removes everything in it, owners first: who made the rest would make it again. What has an owner would be collected
   * without our help, but at the few calls a second that the collector allows itself.
   */
  async clear(): Promise<void> {
    await this.#remove(statefulSets);
    await this.#remove(pods);
    await this.#remove(persistentVolumeClaims);
    await this.#untilNoVolume();
    await this.#remove(listeners);
    await this.#remove(services);
    await this.#remove(endpoints);
    await this.#remove(endpointSlices);
    await this.#remove(podListeners);
    await this.#ground.client.delete(listenerClasses, { name: this.name }).catch(unlessGone);
  }

  /** Again and again: a controller that has not heard of the end of the owners yet may still make one. */
  async #remove<T extends KubeObject>(of: Resource<T>): Promise<void> {
    const { client } = this.#ground;
    const seen = await this.#namesOf(of);
    if (seen.length === 0) return;
    await eventually(
      `${of.plural} of ${this.name} to be gone`,
      async () => {
        const left = await this.#namesOf(of);
        if (left.length === 0) return true;
        await forEach(left, (name) => client.delete(of, { namespace: this.name, name }).catch(unlessGone));
        throw new Error(`there were ${left.length} left`);
      },
      { timeoutMs: patience(seen.length) },
    );
  }

  async #namesOf<T extends KubeObject>(of: Resource<T>): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const { metadata } of this.#ground.client.list(of, { namespace: this.name })) found.push(metadata.name ?? '');
    return found;
  }

  /** The driver's own: volumes go when their claims are gone. */
  async #untilNoVolume(): Promise<void> {
    await eventually(
      `the volumes of ${this.name} to be gone`,
      async () => {
        let left = 0;
        for await (const { spec } of this.#ground.client.list(persistentVolumes)) if (spec?.claimRef?.namespace === this.name) left++;
        if (left === 0) return true;
        throw new Error(`there are ${left} left`);
      },
      { timeoutMs: 180_000 },
    );
  }

  /**
   * Kubernetes' garbage collector asks for each object whose owner is gone, whether it is gone too, and its endpoints
   * controller deletes what is deleted already. That is slow by their own limits (20 to 40 calls a second), cheap, and
   * the same for what is measured with Earshot and without; so it is waited for, but not for long.
   */
  async #silence(): Promise<boolean> {
    const { cluster } = this.#ground;
    await using file = await open(cluster.auditLog, 'r');
    let offset = (await file.stat()).size;
    const mention = `"namespace":"${this.name}"`;
    let quietSince = performance.now();
    return await eventually(
      `requests for objects of ${this.name} to stop`,
      async () => {
        const { size } = await file.stat();
        if (size === offset) return performance.now() - quietSince > QUIET;
        const { buffer, bytesRead } = await file.read(Buffer.alloc(size - offset), 0, size - offset, offset);
        // A half-written line may be missed, but not all of many.
        offset += bytesRead;
        if (buffer.includes(mention)) quietSince = performance.now();
        return performance.now() - quietSince > QUIET;
      },
      { timeoutMs: SILENCE_TIMEOUT, everyMs: 250 },
    ).catch(() => false);
  }
}

const QUIET = 1_500;
const SILENCE_TIMEOUT = 20_000;

function unlessGone(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 404)) throw error;
}
