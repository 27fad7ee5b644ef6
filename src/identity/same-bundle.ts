import type { TlsBundle } from '../router/contract.ts';

/** Whether two bundles are one, also where there is none on both sides. */
export function sameBundle(a: TlsBundle | undefined, b: TlsBundle | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.name === b.name && a.cert === b.cert && a.key === b.key && a.ca === b.ca);
}
