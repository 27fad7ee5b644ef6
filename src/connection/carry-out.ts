import { createHash } from 'node:crypto';
import { annotation } from '../api/skupper/cluster-names.ts';
import type { KubeClient } from '../kube/contract.ts';
import { ApiError, isConflict, isNamespaceTerminating, isNotFound } from '../kube/errors.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { quoted } from '../text/printable.ts';
import { atOnce } from '../work/at-once.ts';
import { hasMore, isAsWanted } from './as-wanted.ts';
import type { SiteCaches } from './caches.ts';
import { fateOf } from './fate.ts';
import { heldAsApplied, isMade, MADE } from './made-objects.ts';
import type { Unwanted, Wish, Wishes } from './wishes.ts';

export interface CarriedOut {
  readonly problems: readonly ResourceProblem[];
  /** Something was refused that may be taken later. */
  readonly failed: unknown;
}

/** Requests of one pass under way at once. */
export const CONCURRENCY = 32;
/** A binding is refused where its Role is not there, and the pods of a Deployment where their account is not. */
const NEEDING_OTHERS: ReadonlySet<string> = new Set(['RoleBinding', 'Deployment']);

/**
 * Makes what is wanted, and takes away what is not. What is already as wanted costs nothing. One that fails is told in the status of what
 * it was for, and keeps nothing else from being done, unless it is for the end of the namespace.
 */
export async function carryOut(
  { objects, unwanted }: Pick<Wishes, 'objects' | 'unwanted'>,
  { namespace, caches, client, signal }: { namespace: string; caches: SiteCaches; client: KubeClient; signal: AbortSignal },
): Promise<CarriedOut> {
  const problems: ResourceProblem[] = [];
  let failed: unknown;
  let ends = false;
  const attempt = async (what: string, resource: Wish['for'] | undefined, work: () => Promise<void>): Promise<void> => {
    // Nothing more is made in a namespace that ends, and what is left there goes with it.
    if (ends) return;
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      failed ??= error;
      ends ||= isNamespaceTerminating(error);
      // Somebody was quicker: the next pass sees what he did.
      if (resource !== undefined && !ends && !isConflict(error)) problems.push(refused(resource, what, error));
    }
  };
  const making = (wishes: readonly Wish[]): readonly (() => Promise<void>)[] =>
    wishes.map((wish) => () => attempt(nameOf(wish), wish.for, () => make(wish, namespace, caches, client, signal)));
  const { first = [], later = [] } = Object.groupBy(objects, ({ of }) => (NEEDING_OTHERS.has(of.kind) ? 'later' : 'first'));
  const removing = unwanted.map((each) => () => attempt(nameOf(each), undefined, () => remove(each, client, signal)));
  await atOnce(CONCURRENCY, [...making(first), ...removing]);
  await atOnce(CONCURRENCY, making(later));
  return { problems, failed };
}

async function make({ of, object }: Wish, namespace: string, caches: SiteCaches, client: KubeClient, signal: AbortSignal): Promise<void> {
  const wanted = { ...object, metadata: { namespace, ...object.metadata } };
  const view = caches.view(of);
  const current = view.get(`${wanted.metadata.namespace}/${wanted.metadata.name}`);
  if (current === undefined) {
    // What is not known to be there may have been made meanwhile, also by the controller that led before: then this is refused.
    view.wrote(await client.create(of, marked(wanted, MADE), { strict: true, signal }));
    return;
  }
  const fate = fateOf(current, wanted);
  if (fate === 'replaced') await remove({ of, object: current }, client, signal);
  // Its end brings the next pass.
  if (fate !== 'kept' || isAsWanted(current, marked(wanted, isMade(current) ? MADE : ''))) return;
  const held = isMade(current) ? await heldAsApplied(of, current, client, signal) : current;
  const applied = await apply(of, marked(wanted), held, client, signal);
  view.wrote(applied);
  if (hasMore(specOf(applied), specOf(wanted))) view.wrote(await replaceSpec(of, marked(wanted), applied, client, signal));
}

async function apply(of: Resource, wanted: KubeObject, current: KubeObject, client: KubeClient, signal: AbortSignal): Promise<KubeObject> {
  try {
    return await client.apply(of, at(current, wanted), { signal });
  } catch (error) {
    // It may be what others have put beside it that cannot stand there.
    if (!(error instanceof ApiError && error.status === 422) || specOf(wanted) === undefined) throw error;
    return client.apply(of, at(await replaceSpec(of, wanted, current, client, signal), wanted), { signal });
  }
}

/** With each list as it is wanted, and whose it is to be: who has not said so by then may be forbidden to change it. */
function replaceSpec(of: Resource, wanted: KubeObject, current: KubeObject, client: KubeClient, signal: AbortSignal): Promise<KubeObject> {
  const { namespace, name = '' } = wanted.metadata;
  const key = { ...(namespace === undefined ? {} : { namespace }), name };
  const patch = { metadata: { ...ownersOf(wanted, current) }, spec: specOf(wanted) };
  return client.patch(of, key, at(current, patch), { type: 'merge', signal });
}

/** Others' stay. */
function ownersOf(
  { metadata: { ownerReferences: wanted = [] } }: KubeObject,
  current: KubeObject,
): Pick<KubeObject['metadata'], 'ownerReferences'> {
  const { ownerReferences: before = [] } = current.metadata;
  const missing = wanted.filter(({ uid }) => !before.some((each) => each.uid === uid));
  return missing.length === 0 ? {} : { ownerReferences: [...before, ...missing] };
}

/** As it was seen: where it is another one by now, or gone, this is refused. */
function at<T extends Pick<KubeObject, 'metadata'>>({ metadata: { uid, resourceVersion } }: KubeObject, object: T): T {
  const seen = { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return { ...object, metadata: { ...object.metadata, ...seen } };
}

function specOf(object: KubeObject & { readonly spec?: unknown }): unknown {
  return object.spec;
}

async function remove({ of, object: { metadata } }: Unwanted, client: KubeClient, signal: AbortSignal): Promise<void> {
  const { namespace, name = '', uid } = metadata;
  try {
    await client.delete(of, { ...(namespace === undefined ? {} : { namespace }), name }, { ...(uid === undefined ? {} : { uid }), signal });
  } catch (error) {
    // Gone, or another one by now: the watch tells which.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** With a hash of itself, by which is seen later that something is no longer wanted in it. */
function marked(object: KubeObject, how: typeof MADE | '' = ''): KubeObject {
  const { annotations = {}, ...metadata } = object.metadata;
  const hash = createHash('sha256').update(JSON.stringify({ ...object, metadata: { ...metadata, annotations } }));
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...annotations, [annotation.applied]: `${how}${hash.digest('base64url').slice(0, 16)}` } },
  };
}

function refused(resource: Wish['for'], what: string, error: unknown): ResourceProblem {
  const words = error instanceof ApiError ? error.statusMessage : error instanceof Error ? error.message : String(error);
  const message = `${what} cannot be made: ${quoted(words, 500)}. It is tried again.`;
  return { resource, severity: 'error', code: 'object-refused', message };
}

function nameOf({ of, object }: Unwanted): string {
  return `${of.kind} ${object.metadata.name}`;
}
