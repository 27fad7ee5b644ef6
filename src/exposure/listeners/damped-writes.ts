/** Delays repairs with increasing intervals, and reports them, if something else keeps reverting them. */
import { createHash } from 'node:crypto';
import { GROUP } from '../../api/listeners/names.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import { repairMessage, repairReportOf } from '../../kube/changed-fields.ts';
import type { EventRecorder, Key, KubeClient } from '../../kube/contract.ts';
import { keyString } from '../../kube/key.ts';
import type { KubeObject, ObjectReference } from '../../kube/objects.ts';
import { apiVersionOf, type Resource } from '../../kube/resource.ts';
import { isRecord } from '../../text/is-record.ts';
import { RepairLimiter, type RepairRequest } from '../../work/repair-limiter.ts';

/** Error of a delayed write, because something else keeps changing the object back. */
export class RepairDelayed extends EarshotError<'object-contested'> {
  /** Milliseconds until the write is allowed. */
  readonly delay: number;

  constructor(message: string, delay: number) {
    super('object-contested', message);
    this.delay = delay;
  }
}

/** One write and its desired result. */
export interface Write<T extends KubeObject> {
  readonly of: Resource<T>;
  readonly key: Key;
  /** Part of the object that is written independently of the rest. */
  readonly part?: 'status' | 'delete';
  /** UID of the object; a new object of the same name is a different one. */
  readonly uid?: string | undefined;
  /** Value that decides whether a write repeats an earlier one. Default: `wanted`. */
  readonly desired?: unknown;
  /** The same value of the current object, if known. If it differs from the last write, something else overwrote it. */
  readonly found?: unknown;
  /** Fields that the object should have. */
  readonly fields: unknown;
}

/** Field manager of the controller's own writes. */
const OURS = 'earshot';

export class DampedWrites {
  readonly #client: KubeClient;
  readonly #events: EventRecorder;
  /** Clock in milliseconds, monotonic. */
  readonly #clock: () => number;
  readonly #limiter = new RepairLimiter();

  constructor(client: KubeClient, events: EventRecorder, clock: () => number) {
    this.#client = client;
    this.#events = events;
    this.#clock = clock;
  }

  /** @throws RepairDelayed if the write has to wait */
  async write<T extends KubeObject, R>(write: Write<T>, send: () => Promise<R>, signal: AbortSignal | undefined): Promise<R> {
    const now = this.#clock();
    const request = this.#requestOf(write, now);
    const isRepair = request.isOverwritten === true || this.#limiter.lastWritten(request.key, now) === request.desired;
    const isContested = isRepair && this.#limiter.isDamped(request.key, now);
    if (isContested && this.#limiter.reported(request.key, now) === undefined) await this.#report(write, request, signal);
    const delay = this.#limiter.delay(request, now);
    if (delay > 0) throw new RepairDelayed(this.contest(write)?.message ?? `Repair of ${nameOf(write)} delayed.`, delay);
    if (isContested) await this.#report(write, request, signal);
    const result = await send();
    // An API server that still serves earlier definitions may have pruned fields. Such a write does not count; the backoff
    // decides about the retry.
    const isDropped = write.of.group === GROUP && isRecord(result) && !includes(result, write.fields);
    if (!isDropped) this.#limiter.wrote(request, this.#clock());
    return result;
  }

  /** The message about an object that something else keeps changing back, and for how many milliseconds at least it is valid. */
  contest<T extends KubeObject>(
    write: Pick<Write<T>, 'of' | 'key' | 'part' | 'uid'>,
  ): { readonly message: string; readonly remaining: number } | undefined {
    const reported = this.#limiter.reported(limiterKey(write), this.#clock());
    return reported && { message: repairMessage(nameOf(write), reported.report), remaining: reported.remaining };
  }

  #requestOf<T extends KubeObject>(write: Write<T>, now: number): RepairRequest {
    const key = limiterKey(write);
    const last = this.#limiter.lastWritten(key, now);
    const isOverwritten = write.found !== undefined && last !== undefined && digestOf(write.found) !== last;
    return { key, desired: digestOf(write.desired ?? write.fields), isOverwritten };
  }

  /** Reads the object, because the caches hold no field managers. A failure of this read is ignored. */
  async #report<T extends KubeObject>(write: Write<T>, { key }: RepairRequest, signal: AbortSignal | undefined): Promise<void> {
    const read = this.#client.find(write.of, write.key, signal === undefined ? {} : { signal });
    const current = await read.catch(() => undefined);
    const report = repairReportOf(current, write.fields, (manager) => manager === OURS, includes);
    this.#limiter.note(key, report, this.#clock());
    const reason: ConditionReason = 'ObjectContested';
    const note = repairMessage(nameOf(write), report);
    this.#events.record({ regarding: regardingOf(write, current), type: 'Warning', reason, action: 'Repair', note });
  }
}

/**
 * A client that damps all its writes. `wanted` and the digest are derived from the sent object, without preconditions. For
 * writers that always send the same object for the same desired state. Others call `DampedWrites.write` and send with the plain
 * client.
 */
export function dampWrites(client: KubeClient, repairs: DampedWrites): KubeClient {
  return {
    get: (...args) => client.get(...args),
    find: (...args) => client.find(...args),
    list: (...args) => client.list(...args),
    page: (...args) => client.page(...args),
    watch: (...args) => client.watch(...args),
    create: (of, object, options) => {
      const { namespace, name = '' } = object.metadata;
      const write = { of, key: { ...(namespace === undefined ? {} : { namespace }), name }, fields: withoutPreconditions(object) };
      return repairs.write(write, () => client.create(of, object, options), options?.signal);
    },
    apply: (of, object, options) => {
      const { namespace, name = '' } = object.metadata;
      const write = { of, key: { ...(namespace === undefined ? {} : { namespace }), name }, fields: withoutPreconditions(object) };
      return repairs.write(write, () => client.apply(of, object, options), options?.signal);
    },
    patch: (of, key, patch, options) => {
      const fields = options.type === 'json' ? addedBy(patch) : withoutPreconditions(patch);
      const part = options.subresource === undefined ? {} : { part: options.subresource };
      return repairs.write({ of, key, fields, uid: uidIn(patch), ...part }, () => client.patch(of, key, patch, options), options.signal);
    },
    delete: (of, key, options) => {
      const write = { of, key, part: 'delete', uid: options?.uid, fields: undefined } as const;
      return repairs.write(write, () => client.delete(of, key, options), options?.signal);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** Hash independent of key order, because the API server returns the fields of a map in another order. */
function digestOf(value: unknown): string {
  const sorted = (_key: string, field: unknown): unknown =>
    isRecord(field) ? Object.fromEntries(Object.entries(field).toSorted(([one], [other]) => (one < other ? -1 : 1))) : field;
  return createHash('sha256')
    .update(JSON.stringify(value ?? null, sorted))
    .digest('base64');
}

function limiterKey<T extends KubeObject>({ of, key, part, uid }: Pick<Write<T>, 'of' | 'key' | 'part' | 'uid'>): string {
  return `${of.plural}.${of.group} ${keyString(key)} ${uid ?? ''} ${part ?? ''}`;
}

function nameOf<T extends KubeObject>({ of, key }: Pick<Write<T>, 'of' | 'key'>): string {
  return `${of.kind} ${keyString(key)}`;
}

/** The object of the event: the pod instead of a PodListeners that it owns, because users look at the pod. */
function regardingOf<T extends KubeObject>({ of, key }: Write<T>, current: KubeObject | undefined): ObjectReference {
  const namespace = key.namespace === undefined ? {} : { namespace: key.namespace };
  const pod = current?.metadata.ownerReferences?.find(({ kind, apiVersion }) => kind === 'Pod' && apiVersion === 'v1');
  if (pod !== undefined) return { apiVersion: 'v1', kind: 'Pod', ...namespace, name: pod.name, uid: pod.uid };
  const uid = current?.metadata.uid;
  return { apiVersion: apiVersionOf(of), kind: of.kind, ...namespace, name: key.name, ...(uid === undefined ? {} : { uid }) };
}

/** Removes the preconditions, which only make a write fail on another object. Null in a merge patch removes a field. */
function withoutPreconditions(object: unknown): unknown {
  if (!isRecord(object)) return object;
  const { metadata, ...rest } = object;
  if (!isRecord(metadata)) return object;
  const { uid: _uid, resourceVersion: _version, ...named } = metadata;
  return { ...rest, metadata: named };
}

/** The values that a JSON patch adds, nested as in the object (RFC 6901). */
function addedBy(patch: unknown): unknown {
  const steps = Array.isArray(patch) ? patch.filter(isRecord).filter(({ op }) => op !== 'test') : [];
  const added: Record<string, unknown> = {};
  for (const { path, value } of steps) {
    const segments = String(path)
      .split('/')
      .slice(1)
      .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
    Object.assign(added, merged(added, segments, value));
  }
  return added;
}

function merged(into: unknown, [first, ...rest]: readonly string[], value: unknown): unknown {
  if (first === undefined) return value;
  const fields = isRecord(into) ? into : {};
  // A pod's volume may be named `constructor`.
  return { ...fields, [first]: merged(Object.hasOwn(fields, first) ? fields[first] : undefined, rest, value) };
}

/**
 * Whether `current` has all wanted fields. It may also have defaults and fields of other writers. Null means that the field is
 * absent.
 */
function includes(current: unknown, fields: unknown): boolean {
  if (fields === null || fields === undefined || fields === false) return current === fields || current === null || current === undefined;
  if (Array.isArray(fields)) {
    return Array.isArray(current) && current.length === fields.length && fields.every((item, index) => includes(current[index], item));
  }
  if (!isRecord(fields)) return current === fields;
  const entries = Object.entries(fields);
  if (current === undefined) return entries.length === 0;
  return isRecord(current) && entries.every(([key, value]) => includes(current[key], value));
}

/** The UID of the object for which a patch is meant, if it contains one. */
function uidIn(patch: unknown): string | undefined {
  const steps: readonly unknown[] = Array.isArray(patch) ? patch : [];
  const tested = steps.find((step) => isRecord(step) && step['op'] === 'test' && step['path'] === '/metadata/uid');
  const metadata = isRecord(patch) ? patch['metadata'] : undefined;
  const uid = isRecord(tested) ? tested['value'] : isRecord(metadata) ? metadata['uid'] : undefined;
  return typeof uid === 'string' ? uid : undefined;
}
