/** How the API server changes an object by what was sent: RFC 7386, the part of RFC 6902 that is used, and server-side apply in small. */
import { isRecord } from '../../src/text/is-record.ts';
import { Refused } from './refused.ts';

export type Json = Readonly<Record<string, unknown>>;

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** RFC 6902, without lists. */
export function jsonPatch(target: Json, operations: readonly Operation[]): Json {
  let result = structuredClone(target);
  for (const { op, path, value } of operations) result = operate(result, op, path.split('/').slice(1).map(unescape), value);
  return result;
}

const unescape = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~');

function operate(target: Json, op: string, [field = '', ...rest]: readonly string[], value: unknown): Json {
  const inner = target[field];
  if (rest.length > 0) {
    if (!isRecord(inner)) throw new Refused(422, 'Invalid', `the path ${field} does not exist`);
    return { ...target, [field]: operate(inner, op, rest, value) };
  }
  if (op === 'test') {
    if (JSON.stringify(inner) !== JSON.stringify(value)) throw new Refused(422, 'Invalid', `testing path ${field}: test failed`);
    return target;
  }
  if (op === 'add' || (op === 'replace' && inner !== undefined)) return { ...target, [field]: value };
  if (op === 'remove' && inner !== undefined) {
    const { [field]: _removed, ...left } = target;
    return left;
  }
  throw new Refused(422, 'Invalid', `${op} of ${field} cannot be done`);
}

/** Maps merge, owners merge by uid, lists are replaced, and fields have no other manager. */
export function applied(target: Json, wanted: unknown, path = ''): Json {
  const result: Record<string, unknown> = { ...target };
  for (const [key, value] of Object.entries(isRecord(wanted) ? wanted : {})) {
    const inner = result[key];
    if (path === 'metadata' && key === 'ownerReferences') result[key] = byUid(inner, value);
    else result[key] = isRecord(value) && isRecord(inner) ? applied(inner, value, key) : value;
  }
  return result;
}

function byUid(before: unknown, wanted: unknown): unknown[] {
  const owners = new Map<unknown, unknown>();
  for (const list of [before, wanted]) {
    for (const owner of Array.isArray(list) ? list : []) if (isRecord(owner)) owners.set(owner['uid'], owner);
  }
  return [...owners.values()];
}
