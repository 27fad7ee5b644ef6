/** Effect of a request: reads and writes of the store, as the API server allows them. */
import type { KubeObject } from '../../src/kube/objects.ts';
import { keyString } from '../../src/kube/key.ts';
import type { Random } from '../simulate/random.ts';
import { Admission } from './admission.ts';
import { applied, jsonPatch, mergePatch, type Json } from './patch.ts';
import { Refused } from './refused.ts';
import type { ApiRequest } from './request.ts';
import { selectorOf } from './selector.ts';
import type { Store } from './store.ts';

export class Resources {
  readonly #store: Store;
  readonly #admission: Admission;
  readonly #random: Random;
  readonly #now: () => number;
  /** Remaining pages of lists that were read in part. */
  readonly #pages = new Map<string, { readonly items: readonly KubeObject[]; readonly version: number }>();
  /** Objects whose deletion another component finishes: a pod's by its kubelet, a claim's when no pod needs it. */
  isHeld: (plural: string, object: KubeObject) => boolean = () => false;

  constructor({ store, random, now }: { readonly store: Store; readonly random: Random; readonly now: () => number }) {
    this.#store = store;
    this.#admission = new Admission(random);
    this.#random = random;
    this.#now = now;
  }

  /** @returns the body of the answer @throws Refused */
  act(request: ApiRequest): string {
    const { method, name, plural, namespace } = request;
    const body: unknown = request.body === null || request.body.length === 0 ? undefined : JSON.parse(request.body.toString());
    if (method === 'POST') return JSON.stringify(this.create(plural, body as KubeObject)); // The client sends objects.
    if (name === undefined) return this.#list(request);
    const key = keyString(namespace === undefined ? { name } : { namespace, name });
    if (method === 'GET') return JSON.stringify(this.#existing(plural, key));
    if (method === 'DELETE') {
      this.delete(plural, key, (body as { preconditions?: { uid?: string } } | undefined)?.preconditions?.uid); // As the client sends it.
      return JSON.stringify({ kind: 'Status', status: 'Success', metadata: {} });
    }
    return JSON.stringify(this.#patch(request, key, body));
  }

  /** @throws Refused */
  create<T extends KubeObject>(plural: string, object: T): T {
    const { name = '', namespace } = object.metadata;
    const key = keyString(namespace === undefined ? { name } : { namespace, name });
    if (this.#store.get(plural, key) !== undefined) throw new Refused(409, 'AlreadyExists', `${plural} "${name}" already exists`);
    const created = this.#admission.created(plural, object, this.#store.newUid(), this.now());
    return this.#store.put(plural, created) as T; // What was given, filled in.
  }

  /** A change based on the current version. No-op if absent. */
  change<T extends KubeObject>(plural: string, key: string, how: (object: T) => T, subresource?: 'status'): T | undefined {
    const before = this.#store.get<T>(plural, key);
    if (before === undefined) return undefined;
    return this.#write(plural, before, how(before), subresource === 'status') as T; // Of this kind.
  }

  find(plural: string, key: string): KubeObject | undefined {
    return this.#store.get(plural, key);
  }

  /** Restores an earlier state over any later write; no-op if absent. */
  changeBack(plural: string, key: string, before: KubeObject | undefined): void {
    const now = this.#store.get(plural, key);
    if (now === undefined) return;
    if (before === undefined) this.delete(plural, key);
    else if (before.metadata.uid === now.metadata.uid) {
      const { resourceVersion } = now.metadata;
      const back = { ...before, metadata: { ...before.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) } };
      this.#store.put(plural, back);
    }
  }

  delete(plural: string, key: string, uid?: string): void {
    const object = this.#existing(plural, key);
    if (uid !== undefined && uid !== object.metadata.uid) throw new Refused(409, 'Conflict', 'Precondition failed: UID in precondition');
    if (!this.isHeld(plural, object)) this.#store.remove(plural, key);
    else if (object.metadata.deletionTimestamp === undefined) {
      this.#store.put(plural, { ...object, metadata: { ...object.metadata, deletionTimestamp: this.now() } });
    }
  }

  now(): string {
    return `${new Date(this.#now()).toISOString().slice(0, 19)}Z`;
  }

  #existing(plural: string, key: string): KubeObject {
    const found = this.#store.get(plural, key);
    if (found === undefined) throw new Refused(404, 'NotFound', `${plural} "${key}" not found`);
    return found;
  }

  #patch({ plural, query, subresource }: ApiRequest, key: string, body: unknown): KubeObject {
    const before = this.#store.get(plural, key);
    // Only server-side apply forces; it also makes what is not there.
    if (query.get('force') === 'true') return this.#apply(plural, before, body as KubeObject);
    if (before === undefined) throw new Refused(404, 'NotFound', `${plural} "${key}" not found`);
    const document = before as unknown as Json; // As JSON.
    const after = Array.isArray(body) ? jsonPatch(document, body) : mergePatch(document, body);
    return this.#write(plural, before, after as KubeObject, subresource === 'status'); // A patched object is one.
  }

  #apply(plural: string, before: KubeObject | undefined, wanted: KubeObject): KubeObject {
    if (before !== undefined) {
      return this.#write(plural, before, applied(before as unknown as Json, wanted) as unknown as KubeObject, false); // As JSON.
    }
    if (wanted.metadata.uid !== undefined) throw new Refused(409, 'Conflict', 'uid mismatch: no existing object was found');
    const { resourceVersion: _any, ...metadata } = wanted.metadata;
    return this.create(plural, { ...wanted, metadata });
  }

  #write(plural: string, before: KubeObject, after: KubeObject, isStatus: boolean): KubeObject {
    if (after.metadata.resourceVersion !== before.metadata.resourceVersion)
      throw new Refused(409, 'Conflict', 'the object has been modified');
    return this.#store.put(plural, this.#admission.changed(plural, before, after, isStatus));
  }

  #list({ plural, query, namespace }: ApiRequest): string {
    const token = query.get('continue');
    const known = token === null ? undefined : this.#pages.get(token);
    if (token !== null && (known === undefined || this.#random.chance(0.1)))
      throw new Refused(410, 'Expired', 'the continue token is too old');
    const kind = this.#store.kind(plural);
    const selects = selectorOf(query, namespace);
    const all = known?.items ?? [...kind.objects.values()].filter((object) => selects?.(object) !== false);
    const version = known?.version ?? kind.version;
    const limit = Number(query.get('limit') ?? '500');
    const rest = all.slice(limit);
    const metadata: Record<string, string> = { resourceVersion: String(version) };
    if (rest.length > 0) {
      const next = `${plural}-${this.#pages.size}`;
      this.#pages.set(next, { items: rest, version });
      metadata['continue'] = next;
    }
    return JSON.stringify({ kind: 'List', metadata, items: all.slice(0, limit) });
  }
}
