/** What planSite is given: bundles from all places, each name once. */
import { join } from 'node:path';
import { certificateFacts } from '../x509/facts.ts';
import { checkBundle, type Purpose } from '../identity/bundle-check.ts';
import type { TlsBundle } from '../router/contract.ts';
import type { BundleProblem, BundleUse, Material } from '../site/material.ts';
import type { BundleFolder } from '../platform/linux/bundles.ts';
import { linux } from '../platform/linux/machine.ts';
import type { NamespaceLayout } from '../platform/linux/layout.ts';

export interface BundleSources {
  /** `input/certs`. */
  readonly user: BundleFolder;
  /** Secrets in `input/resources`. */
  readonly secrets: readonly TlsBundle[];
  /** `internal/certs`. */
  readonly issued: BundleFolder;
}

/** The person's own directory counts first, then a Secret, unless what was issued is its renewal; then what was issued. */
export function gatherMaterial(
  { user, secrets, issued }: BundleSources,
  siteAuthority: string | undefined,
  layout: NamespaceLayout,
): Material {
  const bundles = new Map(issued.bundles);
  for (const secret of secrets) {
    const own = bundles.get(secret.name);
    if (own === undefined || !isRenewalOf(own, secret)) bundles.set(secret.name, secret);
  }
  for (const [name, bundle] of user.bundles) bundles.set(name, bundle);
  return {
    capabilities: linux.capabilities,
    bundles,
    unreadable: new Map([...issued.unreadable, ...user.unreadable]),
    ...(siteAuthority === undefined ? {} : { siteAuthority }),
    check: checkFor,
    bundleLocation: (name) => `${join(layout.input.certs, name)}/`,
  };
}

/** Of the same subject, by the same authority, and younger. */
function isRenewalOf(own: TlsBundle, secret: TlsBundle): boolean {
  if (own.cert === undefined || secret.cert === undefined) return false;
  try {
    const [next, first] = [certificateFacts(own.cert, own.name), certificateFacts(secret.cert, secret.name)];
    return next.subject === first.subject && next.issuer === first.issuer && next.notBefore >= first.notBefore;
  } catch {
    return false;
  }
}

const purposes: Readonly<Record<BundleUse, Purpose>> = {
  server: { kind: 'server' },
  client: { kind: 'client', serverCa: true },
  trust: { kind: 'trust' },
};

/** A wrong clock, or a renewal that is late: whoever connects decides. */
const passing: ReadonlySet<string> = new Set(['tls-expired', 'tls-not-yet-valid']);

function checkFor(bundle: TlsBundle, use: BundleUse): readonly BundleProblem[] {
  const found = checkBundle(bundle, purposes[use]);
  if (found.ok) return found.warnings.map(({ code, message }) => ({ code, message, passing: true }));
  return found.problems.map(({ code, message }) => ({ code, message, passing: passing.has(code) }));
}
