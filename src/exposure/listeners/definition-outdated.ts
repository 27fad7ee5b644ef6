import { EarshotError } from '../../errors/earshot-error.ts';

/**
 * Rejects if the API server pruned part of a write. After a definition changes, each API server prunes by the former one for some
 * moments, and no event reports when that ends. So the reconcile is retried with backoff.
 */
export function checkKept(kind: 'Listener' | 'PodListeners', field: string, isKept: boolean): void {
  if (isKept) return;
  const remedy = 'If this continues for more than a minute, apply the definitions of this version (deploy/crds).';
  throw new EarshotError('definition-outdated', `The API server dropped ${field} of a ${kind}: its definition is an older one. ${remedy}`);
}
