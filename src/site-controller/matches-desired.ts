/** Whether an object in the cluster is what a rule wants, regardless of additional fields. */
import type { KubeObject } from '../kube/objects.ts';
import { isRecord } from '../text/is-record.ts';

/** Whether everything desired is present. A field that is no longer desired changes the digest, so it is not checked here. */
export function matchesDesired(current: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    return (
      Array.isArray(current) && current.length === desired.length && desired.every((each, index) => matchesDesired(current[index], each))
    );
  }
  if (isRecord(desired)) {
    if (!isRecord(current)) return Object.keys(desired).length === 0 && current === undefined;
    return Object.entries(desired).every(([key, value]) => {
      if (key === 'ownerReferences') return hasOwners(current[key], value);
      if (key === 'selector' && hasOtherKeys(current[key], value)) return false;
      return value === undefined || matchesDesired(current[key], value);
    });
  }
  return current === desired || (isEmpty(current) && isEmpty(desired));
}

/** Other owners are allowed. */
function hasOwners(current: unknown, desired: unknown): boolean {
  if (!Array.isArray(desired)) return true;
  return Array.isArray(current) && desired.every((owner) => current.some((each) => matchesDesired(each, owner)));
}

/** An additional label would select other pods. */
function hasOtherKeys(current: unknown, desired: unknown): boolean {
  return isRecord(current) && isRecord(desired) && Object.keys(current).some((key) => !Object.hasOwn(desired, key));
}

/** The API server omits empty values. */
const isEmpty = (value: unknown): boolean => value === undefined || value === '' || value === false || value === 0 || value === null;

/** `fieldsV1` of each manager, at one path of an object. */
type Recorded = readonly Readonly<Record<string, unknown>>[];

/**
 * Server-side apply keeps list elements of other managers, such as a Service port of an earlier controller. They may even be invalid beside
 * the desired ones, as two ports of one name are. Elements that admission adds are allowed: they have no recorded manager, and admission
 * would add them again.
 */
export function hasMore(current: KubeObject, desired: KubeObject): boolean {
  const entries = current.metadata.managedFields;
  const recorded = entries?.map((entry) => (isRecord(entry) && isRecord(entry['fieldsV1']) ? entry['fieldsV1'] : {}));
  return isLonger(specOf(current), specOf(desired), recorded === undefined ? undefined : under(recorded, 'f:spec'));
}

function isLonger(current: unknown, desired: unknown, recorded: Recorded | undefined): boolean {
  if (Array.isArray(desired)) {
    if (!Array.isArray(current)) return false;
    if (recorded === undefined)
      return current.length > desired.length || desired.some((each, at) => isLonger(current[at], each, undefined));
    const keys = new Set(recorded.flatMap((fields) => Object.keys(fields).filter((key) => key.startsWith('k:'))));
    if (current.filter((each) => [...keys].some((key) => isOfKey(each, key))).length > desired.length) return true;
    return desired.some((each) => {
      const key = [...keys].find((one) => isOfKey(each, one));
      return (
        key !== undefined &&
        isLonger(
          current.find((one) => isOfKey(one, key)),
          each,
          under(recorded, key),
        )
      );
    });
  }
  if (!isRecord(desired) || !isRecord(current)) return false;
  return Object.entries(desired).some(([key, value]) => isLonger(current[key], value, recorded && under(recorded, `f:${key}`)));
}

function under(recorded: Recorded, field: string): Recorded {
  return recorded.map((fields) => fields[field]).filter(isRecord);
}

/** Managed fields name a list element as `k:{"name":"router"}` (structured-merge-diff, fieldpath). */
function isOfKey(element: unknown, key: string): boolean {
  const fields: unknown = JSON.parse(key.slice(2));
  return isRecord(element) && isRecord(fields) && Object.entries(fields).every(([name, value]) => element[name] === value);
}

/** Whether everything desired is present. Additional fields are allowed, and so is an image that was pinned to its digest. */
export function hasAll(current: unknown, desired: unknown, field = ''): boolean {
  if (field === 'ownerReferences') return hasOwners(current, desired);
  if (field === 'selector' && hasOtherKeys(current, desired)) return false;
  if (matchesDesired(current, desired)) return true;
  if (typeof desired === 'string' && typeof current === 'string') return isPinned(current, desired);
  if (Array.isArray(desired) && Array.isArray(current)) {
    return desired.every(
      (each) => isRecord(each) && current.some((one) => isRecord(one) && one['name'] === each['name'] && hasAll(one, each)),
    );
  }
  if (!isRecord(desired) || !isRecord(current)) return false;
  return Object.entries(desired).every(([key, value]) => value === undefined || hasAll(current[key], value, key));
}

/** `repository:tag@sha256:…` and `repository@sha256:…` match `repository:tag`. */
function isPinned(current: string, desired: string): boolean {
  const [image, digest] = current.split('@sha256:');
  return digest !== undefined && (image === desired || image === desired.replace(/:[^:/@]+$/, ''));
}

function specOf(object: KubeObject & { readonly spec?: unknown }): unknown {
  return object.spec;
}
