import { Buffer } from 'node:buffer';
import { annotation } from '../../api/skupper/cluster-names.ts';
import { isOfAnotherSite } from '../../api/skupper/other-site.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isConflict, isNotFound } from '../../kube/errors.ts';
import type { OwnerReference, Secret, StringMap } from '../../kube/objects.ts';
import { secrets, type Resource } from '../../kube/resource.ts';
import { TrustError } from '../../trust/errors.ts';
import { difference } from '../../kube/merge-patch.ts';
import { loadSecret } from '../secret-data.ts';

/** Secrets as they were seen last; in the controller, its caches. */
export interface SecretCaches {
  view(of: Resource<Secret>): { get(key: string): Secret | undefined; wrote(object: Secret): void };
  list(of: Resource<Secret>, namespace: string): readonly Secret[];
}

export interface SiteSecretsOptions {
  readonly namespace: string;
  readonly client: KubeClient;
  readonly caches: SecretCaches;
  /** The Site that they belong to. Without one, no state of a site is stored. */
  readonly site?: OwnerReference;
}

/** Computes the desired Secret; undefined leaves it unchanged. */
type SecretPlan = (current: Secret | undefined) => Secret | undefined | Promise<Secret | undefined>;

/** Computes the desired texts; undefined leaves them unchanged. */
export type StatePlan = (texts: StringMap | undefined) => StringMap | undefined | Promise<StringMap | undefined>;

/** Below 1 MiB, the limit of the API server for Secrets (core/v1, MaxSecretSize). */
const MOST_BYTES = 1_000_000;
/** Gives up on a Secret that another writer changes without pause: that is a fault. */
const MOST_TRIES = 10;

/**
 * Secrets of one site's namespace. A read costs no request. A write names the version that it is based on, and is computed again from the
 * new version after a conflict.
 */
export class SiteSecrets {
  readonly #options: SiteSecretsOptions;
  /** Decoded texts of the site's own state. */
  readonly #texts = new WeakMap<Secret, StringMap>();

  constructor(options: SiteSecretsOptions) {
    this.#options = options;
  }

  get site(): OwnerReference {
    const { site, namespace } = this.#options;
    if (site === undefined) throw new TrustError('state-unavailable', `namespace ${namespace} has no Site that could own it`);
    return site;
  }

  /** For messages. */
  locationOf(name: string): string {
    return `Secret ${this.#options.namespace}/${name}`;
  }

  /** Metadata and type only; for the data see `load`. */
  find(name: string): Secret | undefined {
    const { caches, namespace } = this.#options;
    return caches.view(secrets).get(`${namespace}/${name}`);
  }

  list(): readonly Secret[] {
    const { caches, namespace } = this.#options;
    return caches.list(secrets, namespace);
  }

  /** Includes the data, which the cache may lack. */
  async load(name: string): Promise<Secret | undefined> {
    const found = this.find(name);
    return found === undefined ? undefined : loadSecret(this.#options.client, found);
  }

  /** @returns the Secret after the change */
  async change(name: string, plan: SecretPlan): Promise<Secret | undefined> {
    const { client, namespace, caches } = this.#options;
    let current = await this.load(name);
    for (let tries = 1; ; tries += 1) {
      const desired = await plan(current);
      if (desired === undefined) return current;
      try {
        return await this.#write(name, current, desired);
      } catch (error) {
        if (tries === MOST_TRIES || !(isConflict(error) || isNotFound(error))) throw error;
        current = await client.find(secrets, { namespace, name });
        if (current !== undefined) caches.view(secrets).wrote(current);
      }
    }
  }

  /**
   * State of the site in a Secret: texts by key, empty if there is no Secret.
   * @throws TrustError `state-busy`
   */
  state(name: string): StringMap {
    const current = this.find(name);
    return current === undefined ? {} : this.#read(name, current);
  }

  /**
   * @returns the texts after the change
   * @throws TrustError `state-busy`, `state-unavailable`
   */
  async changeState(name: string, plan: StatePlan): Promise<StringMap> {
    const after = await this.change(name, async (current) => {
      const texts = await plan(current === undefined ? undefined : this.#read(name, current));
      return texts === undefined ? undefined : this.#stateSecret(name, current, texts);
    });
    return after === undefined ? {} : this.#read(name, after);
  }

  /** Makes the Site the owner of Secrets that were restored from a backup, so that they are deleted with it. */
  async adopt(names: Iterable<string>): Promise<void> {
    for (const name of names) {
      await this.change(name, (current) =>
        current === undefined || isOwned(current)
          ? undefined
          : { ...current, metadata: { ...current.metadata, ownerReferences: [this.site] } },
      );
    }
  }

  async #write(name: string, current: Secret | undefined, desired: Secret): Promise<Secret> {
    const { client, namespace, caches } = this.#options;
    const view = caches.view(secrets);
    if (current === undefined) {
      const object = { apiVersion: 'v1', kind: 'Secret', ...desired, metadata: { ...desired.metadata, name, namespace } };
      const created = await client.create(secrets, object);
      view.wrote(created);
      return created;
    }
    const { uid, resourceVersion } = current.metadata;
    const { metadata, ...others } = difference(current, desired) as Partial<Secret>;
    if (metadata === undefined && Object.keys(others).length === 0) return current;
    const patch = { ...others, metadata: { ...metadata, uid, resourceVersion } };
    const changed = await client.patch(secrets, { namespace, name }, patch, { type: 'merge' });
    view.wrote(changed);
    return changed;
  }

  #read(name: string, secret: Secret): StringMap {
    this.#refuseForeign(name, secret);
    return this.#texts.getOrInsertComputed(secret, () => textsOf(secret));
  }

  #refuseForeign(name: string, secret: Secret): void {
    if (!isOfAnotherSite(secret, this.site.uid)) return;
    throw new TrustError(
      'state-busy',
      `${this.locationOf(name)} belongs to another Site and is deleted with it; to keep it, remove its ownerReferences`,
    );
  }

  #stateSecret(name: string, current: Secret | undefined, texts: StringMap): Secret {
    const bytes = Object.values(texts).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    if (bytes > MOST_BYTES) {
      throw new TrustError(
        'state-unavailable',
        `${this.locationOf(name)} is full: it would have ${bytes} bytes, and the limit is ${MOST_BYTES}`,
      );
    }
    return {
      ...current,
      metadata: {
        ...current?.metadata,
        annotations: { ...current?.metadata.annotations, [annotation.controlled]: 'true' },
        ownerReferences: [this.site],
      },
      type: current?.type ?? 'Opaque',
      data: dataOf(texts),
    };
  }
}

export function isOwned({ metadata: { ownerReferences = [] } }: Secret): boolean {
  return ownerReferences.length > 0;
}

export function textsOf({ data = {} }: Secret): StringMap {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
}

export function dataOf(texts: StringMap): StringMap {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
}
