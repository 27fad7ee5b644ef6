/** Makes and renews the TLS bundles that a site is to have of its own (`internal/certs/`). */
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { Site } from '../api/skupper/index.ts';
import { certificateFacts } from '../x509/facts.ts';
import { issueBundle } from '../trust/issue.ts';
import { siteAuthority } from '../trust/authority.ts';
import { DirectoryBundles } from '../trust/disk/bundles.ts';
import { readBundle, writeBundle } from '../trust/disk/bundle-files.ts';
import { TrustError } from '../trust/errors.ts';
import { Use } from '../x509/parts.ts';
import type { CertificateFacts } from '../x509/facts.ts';
import { problemOf } from '../errors/problem.ts';
import type { CertificateState } from '../site/observe/trust-facts.ts';
import type { WantedBundle } from '../site/plan/certificates.ts';
import type { Authorities } from './authorities.ts';
import { isRenewalDue } from './due.ts';
import type { NamespaceLayout } from '../platform/linux/layout.ts';

export interface IssuedBundles {
  /** Brings one up to date. @returns how it stands, and whether it was written just now */
  ensure(wanted: WantedBundle, site: Site, now: number, days?: number): Promise<CertificateState & { readonly written: boolean }>;
}

export function createIssuedBundles(layout: NamespaceLayout, authorities: Authorities): IssuedBundles {
  async function makeNew(wanted: WantedBundle, site: Site, days: number | undefined): Promise<CertificateFacts> {
    const { order, issuer, name } = wanted;
    const ordered = { ...order, ...(days === undefined || order.signing ? {} : { days }) };
    if (issuer.kind === 'self') {
      if (!order.signing)
        throw new TrustError(
          'bad-argument',
          'only a signing certificate can sign itself; name an authority in spec.ca, such as earshot-site-ca',
        );
      const own = await siteAuthority(new DirectoryBundles(layout.internal.certs), name, { siteName: order.subject });
      return certificateFacts(own.certificate.toString(), `internal/certs/${name}/tls.crt`);
    }
    const authority = await authorities.find(issuer.kind === 'named' ? issuer.name : undefined, site);
    const bundle = issueBundle(authority, name, ordered);
    await writeBundle(join(layout.internal.certs, name), bundle);
    return certificateFacts(bundle.cert, `internal/certs/${name}/tls.crt`);
  }

  return {
    ensure: async (wanted, site, now, days) => {
      try {
        const bundle = await readBundle(join(layout.internal.certs, wanted.name), wanted.name);
        const facts =
          bundle.cert === undefined || bundle.key === undefined
            ? undefined
            : certificateFacts(bundle.cert, `internal/certs/${wanted.name}/tls.crt`);
        const authority =
          wanted.issuer.kind === 'self'
            ? undefined
            : await authorities.find(wanted.issuer.kind === 'named' ? wanted.issuer.name : undefined, site);
        const certificate = facts === undefined || bundle.cert === undefined ? undefined : new X509Certificate(bundle.cert);
        const stands =
          facts !== undefined &&
          certificate !== undefined &&
          serves(facts, wanted) &&
          isFor(certificate, wanted) &&
          // Made while the clock was ahead.
          facts.notBefore <= now &&
          (authority === undefined || certificate.checkIssued(authority.certificate)) &&
          !isRenewalDue(facts, now);
        if (stands) return { expires: facts.notAfter, written: false };
        const made = await makeNew(wanted, site, days);
        return { expires: made.notAfter, written: true };
      } catch (error) {
        return { problem: problemOf(error), written: false };
      }
    },
  };
}

/** Names that it has besides do no harm: an address that comes and goes does not make a new certificate each time. */
function serves(facts: CertificateFacts, { order }: WantedBundle): boolean {
  const hosts = new Set(facts.hosts.map(canonical));
  return (
    facts.commonName === order.subject && facts.isAuthority === order.signing && order.hosts.every((host) => hosts.has(canonical(host)))
  );
}

function isFor(certificate: X509Certificate, { order }: WantedBundle): boolean {
  // A certificate authority has none.
  if (order.signing) return true;
  const found = new Set(certificate.keyUsage);
  return order.server === found.has(Use.server) && order.client === found.has(Use.client);
}

/** One address may be written in several ways. */
function canonical(host: string): string {
  if (!host.includes(':')) return host.toLowerCase();
  try {
    return new URL(`http://[${host}]/`).hostname;
  } catch {
    return host.toLowerCase();
  }
}
