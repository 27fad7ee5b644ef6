import type { ApiError } from './errors.ts';

/**
 * Whether the API server will not have this object as it is: repeating the request does not mend it, somebody has to
 * change what was written. Conflicts and throttling are not among these.
 *
 * Server-side apply of a field that the kind does not have, or of a value of the wrong type, is answered with 500 and no
 * reason (k8s.io/apimachinery, managedfields: the typed patch is no Status error), so its words are what tells it.
 */
export function isRefusal(error: Pick<ApiError, 'status' | 'statusMessage'>): boolean {
  if (error.status === 500) return error.statusMessage.startsWith('failed to create typed patch object');
  return error.status === 400 || error.status === 403 || error.status === 422;
}
