import { EarshotError } from '../../errors/earshot-error.ts';

/**
 * Rejects a write of which the API server dropped a part. It takes a changed definition as written, and yet prunes objects by the
 * former one for some moments, each server of a cluster for itself; no event tells when that ends. So the reconcile is to be tried
 * again, later and later.
 */
export function checkKept(kind: 'Listener' | 'PodListeners', field: string, isKept: boolean): void {
  if (isKept) return;
  const remedy = 'If this goes on for longer than a minute, apply the definitions of this version (deploy/crds).';
  throw new EarshotError('definition-outdated', `The API server dropped ${field} of a ${kind}: its definition is an older one. ${remedy}`);
}
