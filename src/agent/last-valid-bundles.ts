import { isAboutDates } from '../identity/bundle-check.ts';
import { sameBundle } from '../identity/tls-bundle.ts';
import type { TlsBundle } from '../router/contract.ts';
import type { BundleUse, LastValid, Material } from '../site/material.ts';
import type { Found } from './bundle-checks.ts';

type Gathered = Pick<Material, 'bundles' | 'unreadable'>;

/**
 * Last valid version of each bundle for each use. A faulty replacement of a certificate does not stop traffic that runs with the version
 * before. Kept in memory only: after a restart there is no fallback.
 */
export class LastValidBundles {
  readonly #last = new Map<string, Map<BundleUse, TlsBundle>>();

  see(bundle: TlsBundle, use: BundleUse, found: Found): void {
    if (isBad(found)) return;
    this.#last.getOrInsertComputed(bundle.name, () => new Map<BundleUse, TlsBundle>()).set(use, bundle);
  }

  /** Removing a bundle is deliberate, so its last valid version is not kept. */
  forgetOthers({ bundles, unreadable }: Gathered): void {
    for (const name of this.#last.keys()) if (!bundles.has(name) && !unreadable.has(name)) this.#last.delete(name);
  }

  /** @returns undefined if the present bundle is valid, or if the last valid version is no longer valid */
  standInFor(
    name: string,
    use: BundleUse,
    { bundles, unreadable }: Gathered,
    check: (bundle: TlsBundle, use: BundleUse) => Found,
  ): LastValid | undefined {
    const last = this.#last.get(name)?.get(use);
    const now = unreadable.has(name) ? undefined : bundles.get(name);
    if (last === undefined || (now !== undefined && (sameBundle(now, last) || !isBad(check(now, use))))) return undefined;
    const found = check(last, use);
    return isBad(found) ? undefined : { bundle: last, until: found.holds.until };
  }
}

/** An expired certificate is still used if there is nothing better: the peer decides whether to accept it. */
function isBad({ problems }: Found): boolean {
  return problems.some(({ code, passing }) => !passing || isAboutDates(code));
}
