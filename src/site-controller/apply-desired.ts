import { createHash } from 'node:crypto';
import { annotation } from '../api/skupper/cluster-names.ts';
import { EarshotError } from '../errors/earshot-error.ts';
import type { KubeClient } from '../kube/contract.ts';
import { ApiError, isAlreadyExists, isConflict, isNamespaceTerminating, isNotFound } from '../kube/errors.ts';
import type { KubeObject } from '../kube/objects.ts';
import { refusalAdvice } from '../kube/refusal.ts';
import type { Resource } from '../kube/resource.ts';
import { foreignController } from '../site/foreign-controller.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { quoted } from '../text/printable.ts';
import { mapConcurrent } from '../work/map-concurrent.ts';
import type { TimeSlices } from '../limits/loop/time-slices.ts';
import { hasMore, matchesDesired } from './matches-desired.ts';
import type { SiteCaches } from './caches.ts';
import { isWatched } from './kept-objects.ts';
import { ABSENT, type Repairs } from './repairs.ts';
import { orphanPolicy } from './orphan-policy.ts';
import { heldAsApplied, isCreatedBySite, CREATED_MARK, markOf } from './created-objects.ts';
import type { SettledObjects } from './settled-objects.ts';
import type { ObsoleteObject, DesiredObject, DesiredState } from './desired-state.ts';

export interface ApplyResult {
  readonly problems: readonly ResourceProblem[];
  /** First error that a retry may resolve, if any. */
  readonly failed: unknown;
  /** Milliseconds until a delayed repair is due or its report must be checked. */
  readonly again?: number;
}

export interface ApplyOptions {
  readonly namespace: string;
  readonly caches: SiteCaches;
  readonly client: KubeClient;
  readonly repairs: Repairs;
  readonly settled: SettledObjects;
  /** Site whose status reports repairs of deletions. */
  readonly site: DesiredObject['for'] | undefined;
  readonly slices: TimeSlices;
  readonly signal: AbortSignal;
}

/** Maximum number of concurrent requests of one reconcile. */
export const CONCURRENCY = 32;
/** Applied last: a RoleBinding is refused without its Role, and the pods of a Deployment without their ServiceAccount. */
const NEEDING_OTHERS: ReadonlySet<string> = new Set(['RoleBinding', 'Deployment']);

/**
 * Ensures the desired objects and deletes the obsolete ones. An object that already matches costs no request. An error is reported in the
 * status of the resource that needs the object. The others are still applied, unless the namespace is terminating.
 */
export async function applyDesired(
  { objects, obsolete }: Pick<DesiredState, 'objects' | 'obsolete'>,
  options: ApplyOptions,
): Promise<ApplyResult> {
  const { namespace, repairs, site, slices, signal } = options;
  const problems: ResourceProblem[] = [];
  let failed: unknown;
  let ends = false;
  let again = Number.POSITIVE_INFINITY;
  const attempt = async (what: string, resource: DesiredObject['for'] | undefined, work: () => Promise<number>): Promise<void> => {
    // A terminating namespace refuses new objects and deletes the existing ones.
    if (ends) return;
    await slices.next();
    try {
      const delay = await work();
      if (delay > 0) again = Math.min(again, delay);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ForeignObjectError && resource !== undefined) {
        problems.push({ resource, severity: 'error', code: error.code, message: `${error.message}.` });
        if (!error.isSeen) again = Math.min(again, SEEN_AGAIN);
        return;
      }
      failed ??= error;
      ends ||= isNamespaceTerminating(error);
      // Another writer was faster. The next reconcile sees its change.
      if (resource !== undefined && !ends && !isConflict(error)) problems.push(refusedWrite(resource, what, error));
    }
  };
  const items = objects.map((item) => ({ ...item, object: { ...item.object, metadata: { namespace, ...item.object.metadata } } }));
  const making = (some: readonly DesiredObject[]): readonly (() => Promise<void>)[] =>
    some.map((item) => () => attempt(nameOf(item), item.for, () => make(item, options)));
  const { first = [], later = [] } = Object.groupBy(items, ({ of }) => (NEEDING_OTHERS.has(of.kind) ? 'later' : 'first'));
  const removing = obsolete.map((each) => () => attempt(nameOf(each), undefined, () => removeObsolete({ ...each, for: site }, options)));
  await mapConcurrent(CONCURRENCY, [...making(first), ...removing]);
  await mapConcurrent(CONCURRENCY, making(later));
  await slices.rest();
  const reports = repairs.reports([...items, ...obsolete.map((each) => ({ ...each, for: site }))]);
  again = Math.min(again, reports.again ?? again);
  const changed = items.flatMap((item) => changedByAdmission(item, options));
  return { problems: [...problems, ...reports.problems, ...changed], failed, ...(Number.isFinite(again) ? { again } : {}) };
}

/** A retry is useless until a user renames one of the two objects. */
class ForeignObjectError extends EarshotError<'object-foreign'> {
  /** Whether the watch reports the end of the foreign object. */
  readonly isSeen: boolean;

  constructor(message: string, isSeen: boolean) {
    super('object-foreign', message);
    this.isSeen = isSeen;
  }
}

/** Milliseconds until an object that is not watched is read again. */
const SEEN_AGAIN = 60_000;

/** @returns milliseconds until the next attempt if another writer keeps reverting the object; 0 when done */
async function make(item: DesiredObject, { caches, client, repairs, settled, signal }: ApplyOptions): Promise<number> {
  const { of, object: desired } = item;
  const view = caches.view(of);
  const current = view.get(`${desired.metadata.namespace}/${desired.metadata.name}`);
  const owner = current === undefined ? undefined : foreignController(current.metadata);
  if (owner !== undefined) throw new ForeignObjectError(`${nameOf(item)} exists and belongs to ${owner}; rename one of the two`, true);
  const fate = current === undefined ? undefined : orphanPolicy(current, desired);
  // Its deletion triggers the next reconcile.
  if (fate === 'awaited') return 0;
  const digest = digestOf(desired);
  const found = current === undefined ? ABSENT : (markOf(current)?.digest ?? '');
  if (current !== undefined && fate === 'kept') {
    const before = marked(desired, `${markOf(current)?.how ?? ''}${digest}`);
    if (matchesDesired(current, before) || settled.has(of, current, before)) return 0;
  }
  const delay = repairs.delay(item, digest, found);
  await repairs.investigate(item, current, signal);
  if (delay > 0) return delay;
  if (current === undefined) {
    // An object that the cache lacks may exist, for example because the former leader created it. Then create is refused.
    const created = marked(desired, `${CREATED_MARK}${digest}`);
    const answer = await create(item, created, client, signal);
    view.wrote(answer);
    settled.record(of, answer, created);
    repairs.wrote(item, digest, found);
    return 0;
  }
  if (fate === 'replaced') {
    settled.forget(of, current);
    if (await remove({ of, object: current }, client, signal)) repairs.wrote(item, ABSENT, found);
    return 0;
  }
  const held = isCreatedBySite(current) ? await heldAsApplied(of, current, client, signal) : current;
  const applied = await apply(of, marked(desired, digest), held, client, signal);
  view.wrote(applied);
  repairs.wrote(item, digest, found);
  const answer = hasMore(applied, desired) ? await replaceSpec(of, marked(desired, digest), applied, client, signal) : applied;
  if (answer !== applied) view.wrote(answer);
  settled.record(of, answer, marked(desired, digest));
  return 0;
}

/** @throws ForeignObjectError if an object of the name exists that the cache lacks because of its labels, ApiError if it is about to arrive */
async function create(item: DesiredObject, created: KubeObject, client: KubeClient, signal: AbortSignal): Promise<KubeObject> {
  const { of } = item;
  try {
    return await client.create(of, created, { strict: true, signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { namespace, name = '' } = created.metadata;
    const there = await client.find(of, { ...(namespace === undefined ? {} : { namespace }), name }, { signal }).catch(() => undefined);
    if (there === undefined || isWatched(of, there)) throw error;
    throw new ForeignObjectError(`${nameOf(item)} exists, and another owner created it; rename one of the two`, false);
  }
}

/** Warns about objects that admission changed: they work, but not as intended. */
function changedByAdmission({ of, object, for: resource }: DesiredObject, { settled }: ApplyOptions): readonly ResourceProblem[] {
  const changed = settled.changedIn(of, object);
  if (changed.length === 0) return [];
  const message =
    `an admission policy or webhook of the cluster changes ${of.kind} ${object.metadata.name} (${changed.join(', ')}). ` +
    'If that is not meant, exclude the requests of the controller of sites there.';
  return [{ resource, severity: 'warning', code: 'changed-by-admission', message }];
}

async function removeObsolete(
  obsolete: ObsoleteObject & { readonly for: DesiredObject['for'] | undefined },
  { client, repairs, settled, signal }: ApplyOptions,
): Promise<number> {
  const { metadata } = obsolete.object;
  settled.forget(obsolete.of, obsolete.object);
  // It waits for its finalizers, or another controller owns it in spite of our marks.
  if (metadata.deletionTimestamp !== undefined || foreignController(metadata) !== undefined) return 0;
  const delay = repairs.delay(obsolete, ABSENT);
  await repairs.investigate(obsolete, undefined, signal);
  if (delay > 0) return delay;
  if (await remove(obsolete, client, signal)) repairs.wrote(obsolete, ABSENT);
  return 0;
}

async function apply(of: Resource, desired: KubeObject, current: KubeObject, client: KubeClient, signal: AbortSignal): Promise<KubeObject> {
  try {
    return await client.apply(of, at(current, desired), { signal });
  } catch (error) {
    // The cause may be fields of other managers that are invalid beside ours.
    if (!(error instanceof ApiError && error.status === 422) || specOf(desired) === undefined) throw error;
    return client.apply(of, at(await replaceSpec(of, desired, current, client, signal), desired), { signal });
  }
}

/**
 * Replaces each list of the spec as a whole. Sets the owner in the same patch: the admission policy forbids the controller to change
 * objects that no resource of skupper.io owns.
 */
function replaceSpec(of: Resource, desired: KubeObject, current: KubeObject, client: KubeClient, signal: AbortSignal): Promise<KubeObject> {
  const { namespace, name = '' } = desired.metadata;
  const key = { ...(namespace === undefined ? {} : { namespace }), name };
  const patch = { metadata: { ...ownersOf(desired, current) }, spec: specOf(desired) };
  return client.patch(of, key, at(current, patch), { type: 'merge', signal });
}

/** Adds the missing owners; those of others stay. */
function ownersOf(
  { metadata: { ownerReferences: desired = [] } }: KubeObject,
  current: KubeObject,
): Pick<KubeObject['metadata'], 'ownerReferences'> {
  const { ownerReferences: before = [] } = current.metadata;
  const missing = desired.filter(({ uid }) => !before.some((each) => each.uid === uid));
  return missing.length === 0 ? {} : { ownerReferences: [...before, ...missing] };
}

/** Adds the UID and resource version that were seen: the API server refuses the write if the object has changed or was replaced. */
function at<T extends Pick<KubeObject, 'metadata'>>({ metadata: { uid, resourceVersion } }: KubeObject, object: T): T {
  const seen = { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return { ...object, metadata: { ...object.metadata, ...seen } };
}

function specOf(object: KubeObject & { readonly spec?: unknown }): unknown {
  return object.spec;
}

/** @returns false if the object is gone or was replaced; the watch shows which */
async function remove({ of, object: { metadata } }: ObsoleteObject, client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const { namespace, name = '', uid } = metadata;
  try {
    await client.delete(of, { ...(namespace === undefined ? {} : { namespace }), name }, { ...(uid === undefined ? {} : { uid }), signal });
    return true;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    return false;
  }
}

/** Adds the digest of the desired object. It shows later that a field is no longer desired. */
function marked(object: KubeObject, mark: string): KubeObject {
  const { annotations = {}, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, annotations: { ...annotations, [annotation.applied]: mark } } };
}

function digestOf(object: KubeObject): string {
  const { annotations = {}, ...metadata } = object.metadata;
  const hash = createHash('sha256').update(JSON.stringify({ ...object, metadata: { ...metadata, annotations } }));
  return hash.digest('base64url').slice(0, 16);
}

export function refusedWrite(resource: DesiredObject['for'], what: string, error: unknown): ResourceProblem {
  const words = error instanceof ApiError ? error.statusMessage : error instanceof Error ? error.message : String(error);
  const message = `${what} cannot be written: ${quoted(words, 700)}.${refusalAdvice(error)} The write is retried.`;
  return { resource, severity: 'error', code: 'object-refused', message };
}

function nameOf({ of, object }: ObsoleteObject): string {
  return `${of.kind} ${object.metadata.name}`;
}
