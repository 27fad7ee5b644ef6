import { isDeepStrictEqual } from 'node:util';
import type { DeleteOptions, Key, KubeClient, Page, PatchOptions, WatchEvent, WatchOptions } from '../../../../src/kube/contract.ts';
import { ApiError } from '../../../../src/kube/errors.ts';
import { keyOf, keyString } from '../../../../src/kube/key.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import type { Resource } from '../../../../src/kube/resource.ts';

/** Hook of a call before it is served: throws, or waits. */
export type Meets = (call: { readonly verb: string; readonly plural: string; readonly object: unknown }) => void | Promise<void>;

interface Watching {
  readonly plural: string;
  readonly labels: readonly string[];
  /** `metadata.name` of a selector by field. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly send: (event: WatchEvent<KubeObject>) => void;
}

/**
 * An API server in memory: objects, patches, selection by label value, presence or absence (`!`), and watches. Each kind of watch can be
 * held back. Objects get a uid and a resourceVersion, Services a cluster IP and node ports.
 */
export class PlayedApi implements KubeClient {
  readonly #objects = new Map<string, KubeObject>();
  readonly #watching = new Set<Watching>();
  /** Events that wait, by kind. */
  readonly #held = new Map<string, (() => void)[]>();
  #version = 100;
  /** `verb plural namespace/name`, also of what was refused. */
  readonly calls: string[] = [];
  meets: Meets = () => undefined;
  /** Changes an object that the controller writes, before it is stored. */
  prunes: <T extends KubeObject>(of: Resource<T>, object: T) => T = (_of, object) => object;

  /** Everything but reads. */
  get writes(): readonly string[] {
    return this.calls.filter((call) => !call.startsWith('get '));
  }

  /** By kind and key. */
  get objects(): ReadonlyMap<string, KubeObject> {
    return this.#objects;
  }

  /** Goes on from where another one stands. */
  startFrom({ objects }: PlayedApi): void {
    for (const [id, object] of objects) this.#objects.set(id, object);
    this.#version = Math.max(this.#version, ...[...objects.values()].map(({ metadata }) => Number(metadata.resourceVersion)));
  }

  hold(of: Resource): void {
    if (!this.#held.has(of.plural)) this.#held.set(of.plural, []);
  }

  release(of: Resource): void {
    const events = this.#held.get(of.plural) ?? [];
    this.#held.delete(of.plural);
    for (const send of events) send();
  }

  /** Writes as another client would. */
  put<T extends KubeObject>(of: Resource<T>, object: T): T {
    const known = this.#objects.get(idOf(of, keyOf(object)));
    const version = { resourceVersion: `${++this.#version}`, uid: object.metadata.uid ?? known?.metadata.uid ?? `uid-${this.#version}` };
    const stored = { ...object, metadata: { ...object.metadata, ...version } };
    const complete = of.plural === 'services' ? withAddresses(stored, this.#version) : stored;
    this.#objects.set(idOf(of, keyOf(object)), complete);
    this.#notify(of, complete, known);
    return complete as T; // What is added to a Service is of its type.
  }

  remove(of: Resource, key: string): void {
    const known = this.#objects.get(idOf(of, key));
    this.#objects.delete(idOf(of, key));
    if (known === undefined) return;
    const last = { ...known, metadata: { ...known.metadata, resourceVersion: `${++this.#version}` } };
    this.#notify(of, undefined, last);
  }

  read<T extends KubeObject>(of: Resource<T>, key: string): T | undefined {
    return this.#objects.get(idOf(of, key)) as T | undefined; // Kept by kind.
  }

  async page<T extends KubeObject>(): Promise<Page<T>> {
    throw new Error('pages are not played');
  }

  async watch<T extends KubeObject>(
    of: Resource<T>,
    { signal, namespace, labelSelector = '', fieldSelector, onEvent }: WatchOptions<T>,
  ): Promise<void> {
    const send = onEvent as (event: WatchEvent<KubeObject>) => void; // It receives only its own kind.
    const labels = labelSelector.split(',').filter((label) => label !== '');
    const watching: Watching = { plural: of.plural, labels, name: /^metadata\.name=(.+)$/.exec(fieldSelector ?? '')?.[1], namespace, send };
    for (const [id, object] of this.#objects) {
      if (id.startsWith(`${of.plural} `) && isSelected(object, watching)) send({ type: 'ADDED', object });
    }
    send({ type: 'BOOKMARK', resourceVersion: `${this.#version}`, initialEventsEnd: true });
    this.#watching.add(watching);
    const { promise, reject } = Promise.withResolvers<void>();
    signal?.addEventListener('abort', () => {
      this.#watching.delete(watching);
      reject(signal.reason);
    });
    return promise;
  }

  async get<T extends KubeObject>(of: Resource<T>, key: Key): Promise<T> {
    return (await this.find(of, key)) ?? refuse(404, 'NotFound', 'not found');
  }

  find<T extends KubeObject>(of: Resource<T>, key: Key): Promise<T | undefined> {
    return this.#serve('get', of, keyString(key), undefined, () => this.read(of, keyString(key)));
  }

  list<T extends KubeObject>(): AsyncIterable<T> {
    throw new Error('lists are not played');
  }

  create<T extends KubeObject>(of: Resource<T>, object: T): Promise<T> {
    return this.#serve('create', of, keyOf(object), object, () => {
      if (this.read(of, keyOf(object)) !== undefined) refuse(409, 'AlreadyExists', 'exists');
      return this.put(of, this.prunes(of, object));
    });
  }

  apply<T extends KubeObject>(of: Resource<T>, object: T): Promise<T> {
    return this.#serve('apply', of, keyOf(object), object, () => {
      const known = this.read(of, keyOf(object));
      // An object with a uid is not created again, one with only a resourceVersion is.
      if (known !== undefined) check(known, object.metadata);
      else if (object.metadata.uid !== undefined) refuse(409, 'Conflict', 'another uid');
      return this.put(of, this.prunes(of, merge(known, object) as T));
    });
  }

  patch<T extends KubeObject>(of: Resource<T>, key: Key, patch: unknown, { type, subresource }: PatchOptions): Promise<T> {
    const verb = subresource === undefined ? 'patch' : `patch-${subresource}`;
    return this.#serve(verb, of, keyString(key), patch, () => {
      const known = this.read(of, keyString(key)) ?? refuse(404, 'NotFound', 'not found');
      if (type === 'merge') check(known, (patch as Partial<KubeObject>).metadata);
      const after = type === 'merge' ? merge(known, patch) : jsonPatched(known, patch as readonly JsonStep[]);
      const stored = this.prunes(of, after as T); // A patch of an object of this kind.
      // An update without a difference is neither a write nor an event.
      return isDeepStrictEqual(stored, known) ? stored : this.put(of, stored);
    });
  }

  delete(of: Resource, key: Key, options: DeleteOptions = {}): Promise<void> {
    return this.#serve('delete', of, keyString(key), undefined, () => {
      check(this.read(of, keyString(key)) ?? refuse(404, 'NotFound', 'not found'), options);
      this.remove(of, keyString(key));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #serve<R>(verb: string, of: Resource, key: string, object: unknown, answer: () => R): Promise<R> {
    this.calls.push(`${verb} ${of.plural} ${key}`);
    await this.meets({ verb, plural: of.plural, object });
    return answer();
  }

  /** An object that enters a selection is new to its watch, and one that leaves it is gone. */
  #notify(of: Resource, after: KubeObject | undefined, before: KubeObject | undefined): void {
    const send = (): void => {
      for (const watching of this.#watching) {
        if (watching.plural !== of.plural) continue;
        const was = before !== undefined && isSelected(before, watching);
        if (after !== undefined && isSelected(after, watching)) watching.send({ type: was ? 'MODIFIED' : 'ADDED', object: after });
        else if (was) watching.send({ type: 'DELETED', object: after ?? before });
      }
    };
    const held = this.#held.get(of.plural);
    if (held === undefined) send();
    else held.push(send);
  }
}

export function refuse(status: number, reason: string, message: string): never {
  throw new ApiError('played', { status, reason, message });
}

/** Preconditions: what a write names must be so. */
function check(
  { metadata }: KubeObject,
  { uid, resourceVersion }: { readonly uid?: string; readonly resourceVersion?: string } = {},
): void {
  if ((uid ?? metadata.uid) !== metadata.uid) refuse(409, 'Conflict', 'another uid');
  if ((resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion) refuse(409, 'Conflict', 'another resource version');
}

interface JsonStep {
  readonly op: string;
  readonly path: string;
  readonly value: unknown;
}

/** RFC 6902, as far as the controller uses it: `test` of a field, `add` of a field of an object. */
function jsonPatched(object: unknown, steps: readonly JsonStep[]): unknown {
  return steps.reduce((patched, { op, path, value }) => {
    const segments = path
      .split('/')
      .slice(1)
      .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
    const nested = segments.reduceRight<unknown>((inner, segment) => ({ [segment]: inner }), value);
    if (op === 'add') return merge(patched, nested, segments.length);
    const found = segments.reduce<unknown>((inner, segment) => (inner as Record<string, unknown>)[segment], patched);
    return found === value ? patched : refuse(422, 'Invalid', `test of ${path} failed`);
  }, object);
}

/** RFC 7386, down to `depth`; what is deeper is replaced. */
function merge(target: unknown, patch: unknown, depth = Number.POSITIVE_INFINITY): unknown {
  if (depth === 0 || typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = typeof target === 'object' && target !== null ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value, depth - 1);
  }
  return result;
}

function isSelected({ metadata }: KubeObject, { labels, name, namespace }: Watching): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (name !== undefined && metadata.name !== name) return false;
  return labels.every((label) => {
    const [key = '', value] = label.split('=');
    if (key.startsWith('!')) return metadata.labels?.[key.slice(1)] === undefined;
    const found = metadata.labels?.[key];
    return value === undefined ? found !== undefined : found === value;
  });
}

function idOf(of: Resource, key: string): string {
  return `${of.plural} ${key}`;
}

/** Fields that the API server gives a Service, once. */
function withAddresses(service: KubeObject & { readonly spec?: object }, number: number): KubeObject {
  const { ports = [], ...spec } = (service.spec ?? {}) as { readonly type?: string; readonly ports?: readonly object[] };
  const numbered = ports.map((port, index) => ({ ...(spec.type === 'NodePort' ? { nodePort: 30_000 + number + index } : {}), ...port }));
  return {
    ...service,
    spec: { ipFamilies: ['IPv4'], clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'], ...spec, ports: numbered },
  } as KubeObject;
}
