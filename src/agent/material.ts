/** What planSite is given: bundles from all sources, each name once. */
import type { TlsBundle } from '../router/contract.ts';
import type { Material } from '../site/material.ts';
import { certificateFacts } from '../x509/facts.ts';
import type { BundleSet } from '../trust/stores.ts';

export interface BundleSources {
  readonly user: BundleSet;
  /** That came along with resources. */
  readonly attached: readonly TlsBundle[];
  readonly issued: BundleSet;
}

/** The user's own counts first, then what came with a resource, unless what was issued is its renewal; then what was issued. */
export function gatherBundles({ user, attached, issued }: BundleSources): Pick<Material, 'bundles' | 'unreadable'> {
  const bundles = new Map(issued.bundles);
  for (const bundle of attached) {
    const own = bundles.get(bundle.name);
    if (own === undefined || !isRenewalOf(own, bundle)) bundles.set(bundle.name, bundle);
  }
  for (const [name, bundle] of user.bundles) bundles.set(name, bundle);
  const unreadable = [...issued.unreadable, ...user.unreadable].map(([name, { message }]) => [name, message] as const);
  return { bundles, unreadable: new Map(unreadable) };
}

/** Of the same subject, by the same authority, and younger. */
function isRenewalOf(own: TlsBundle, given: TlsBundle): boolean {
  if (own.cert === undefined || given.cert === undefined) return false;
  try {
    const [next, first] = [certificateFacts(own.cert, own.name), certificateFacts(given.cert, given.name)];
    return next.subject === first.subject && next.issuer === first.issuer && next.notBefore >= first.notBefore;
  } catch {
    return false;
  }
}
