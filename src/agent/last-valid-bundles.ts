import { isAboutDates } from '../identity/bundle-check.ts';
import { sameBundle } from '../identity/tls-bundle.ts';
import type { TlsBundle } from '../router/contract.ts';
import type { BundleUse, LastValid, Material } from '../site/material.ts';
import type { Found } from './bundle-checks.ts';

type Gathered = Pick<Material, 'bundles' | 'unreadable'>;

/**
 * What each bundle was when it last served a purpose. A mistake in a certificate does not stop what ran with the one before, as with any
 * other file. Only this process knows it: after a restart there is nothing to fall back to.
 */
export class LastValidBundles {
  readonly #last = new Map<string, Map<BundleUse, TlsBundle>>();

  see(bundle: TlsBundle, use: BundleUse, found: Found): void {
    if (isBad(found)) return;
    this.#last.getOrInsertComputed(bundle.name, () => new Map<BundleUse, TlsBundle>()).set(use, bundle);
  }

  /** Whoever takes a bundle away means it. */
  forgetOthers({ bundles, unreadable }: Gathered): void {
    for (const name of this.#last.keys()) if (!bundles.has(name) && !unreadable.has(name)) this.#last.delete(name);
  }

  /** @returns undefined where the bundle serves, or nothing did that still does */
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

/** One that has ended is used all the same where nothing better is there: whoever connects decides. */
function isBad({ problems }: Found): boolean {
  return problems.some(({ code, passing }) => !passing || isAboutDates(code));
}
