/** Whether an object in the cluster is what a rule wants, whatever else is in it. */
import { isRecord } from '../text/is-record.ts';

/** All that is wanted is there, and nothing that was wanted before is wanted no more (then the hash would be another). */
export function isAsWanted(current: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(current) && current.length === wanted.length && wanted.every((each, index) => isAsWanted(current[index], each));
  }
  if (isRecord(wanted)) {
    if (!isRecord(current)) return Object.keys(wanted).length === 0 && current === undefined;
    return Object.entries(wanted).every(([key, value]) => {
      if (key === 'ownerReferences') return hasOwners(current[key], value);
      if (key === 'selector' && hasOtherKeys(current[key], value)) return false;
      return value === undefined || isAsWanted(current[key], value);
    });
  }
  return current === wanted || (isEmpty(current) && isEmpty(wanted));
}

/** Others may own it as well. */
function hasOwners(current: unknown, wanted: unknown): boolean {
  if (!Array.isArray(wanted)) return true;
  return Array.isArray(current) && wanted.every((owner) => current.some((each) => isAsWanted(each, owner)));
}

/** A label more, and other pods are selected. */
function hasOtherKeys(current: unknown, wanted: unknown): boolean {
  return isRecord(current) && isRecord(wanted) && Object.keys(current).some((key) => !Object.hasOwn(wanted, key));
}

/** The API server leaves out what is empty. */
const isEmpty = (value: unknown): boolean => value === undefined || value === '' || value === false || value === 0 || value === null;

/**
 * Server-side apply leaves in a list what another manager has put there, such as a port of a Service by an earlier controller. That can even
 * be invalid beside what is wanted, as two ports of one name are. What is wanted is the whole list.
 */
export function hasMore(current: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(current) && (current.length > wanted.length || wanted.some((each, index) => hasMore(current[index], each)));
  }
  return isRecord(wanted) && isRecord(current) && Object.entries(wanted).some(([key, value]) => hasMore(current[key], value));
}
