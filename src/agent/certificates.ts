import { X509Certificate } from 'node:crypto';
import type { Site } from '../api/skupper/index.ts';
import { problemOf } from '../errors/problem.ts';
import { purposeOf, type CertificatePurpose } from '../identity/certificate-purpose.ts';
import type { TlsBundle } from '../router/contract.ts';
import type { CertificateState } from '../site/observe/trust-facts.ts';
import { PURPOSE, type DesiredBundle } from '../site/plan/certificates.ts';
import { quoted } from '../text/printable.ts';
import type { Authority } from '../trust/contract.ts';
import type { CertificateFacts } from '../x509/facts.ts';
import type { AnchorStore } from '../trust/anchor.ts';
import { TrustError } from '../trust/errors.ts';
import { siteAuthority } from '../trust/authority.ts';
import { issueBundle } from '../trust/issue.ts';
import type { Bundles, BundleSet, Ledger } from '../trust/stores.ts';
import { isRenewalDue } from '../trust/renewal.ts';
import { namesAll } from '../x509/alternative-names.ts';
import { certificateFacts } from '../x509/facts.ts';
import { Use } from '../x509/parts.ts';
import type { Authorities } from './authorities.ts';

export interface EnsureOptions {
  readonly site: Site;
  readonly issued: BundleSet;
  /** Names of bundles that were created by redeeming tokens. */
  readonly ofTokens: ReadonlySet<string>;
  /** Serial numbers of revoked certificates. */
  readonly revoked: ReadonlySet<string>;
  /** Keeps the purpose of an existing certificate, because a resource that could use it for links is unreadable. */
  readonly keepsPurpose?: boolean;
  readonly now: number;
  /** Lifetime of a new certificate in days; the default if omitted. */
  readonly days?: number;
}

/** Creates and renews the site's own TLS bundles. Each certificate is on record before its bundle is stored. */
export class Certificates {
  readonly #bundles: Bundles;
  readonly #authorities: Authorities;
  readonly #ledger: Ledger;
  /** Parsed certificates, cached for each bundle because reconciles run every few seconds. */
  readonly #read = new WeakMap<TlsBundle, ReadLeaf>();

  readonly #anchor: AnchorStore | undefined;

  constructor(bundles: Bundles, authorities: Authorities, ledger: Ledger, anchor?: AnchorStore) {
    this.#anchor = anchor;
    this.#bundles = bundles;
    this.#ledger = ledger;
    this.#authorities = authorities;
  }

  /** Creates or renews one bundle if necessary. @returns its state, and whether this call wrote it */
  async ensure(planned: DesiredBundle, options: EnsureOptions): Promise<CertificateState & { readonly written: boolean }> {
    const { site, issued, ofTokens, revoked, now } = options;
    try {
      const unreadable = issued.unreadable.get(planned.name);
      if (unreadable !== undefined) return { problem: unreadable, written: false };
      const bundle = issued.bundles.get(planned.name) ?? (await this.#bundles.get(planned.name));
      const leaf = this.#leafOf(bundle);
      const desired = options.keepsPurpose === true ? withPurposeOf(leaf, planned) : planned;
      const authority = await this.#issuerOf(desired, site);
      const isRevoked = leaf !== undefined && revoked.has(leaf.facts.serial);
      if (leaf !== undefined && !isRevoked && stands(leaf, desired, authority, now))
        return { expires: leaf.facts.notAfter, written: false };
      if (leaf !== undefined && ofTokens.has(desired.name) && !isOf(authority, leaf)) throw nameTaken(desired.name);
      const purpose = checkOrder(desired);
      // The site's own bundles before this one were of servers, which open no links.
      const mayLink = desired.isGenerated !== true && leaf !== undefined && leaf.purpose !== purpose && !isRevoked;
      if (mayLink && purpose === 'application') await this.#refuse(desired, leaf);
      const fresh = await this.#make(desired, purpose, authority, options.days);
      return { expires: fresh.notAfter, written: true };
    } catch (error) {
      return { problem: problemOf(error), written: false };
    }
  }

  #leafOf(bundle: TlsBundle | undefined): ReadLeaf | undefined {
    if (bundle?.cert === undefined || bundle.key === undefined) return undefined;
    const { name, cert } = bundle;
    return this.#read.getOrInsertComputed(bundle, () => {
      const x509 = new X509Certificate(cert);
      return { facts: this.#factsOf(name, cert), x509, purpose: purposeOf(x509) };
    });
  }

  #factsOf(name: string, cert: string): CertificateFacts {
    return certificateFacts(cert, `${this.#bundles.locationOf(name)}/tls.crt`);
  }

  /** @returns undefined for a self-signed certificate */
  async #issuerOf({ issuer }: DesiredBundle, site: Site): Promise<Authority | undefined> {
    if (issuer.kind === 'self') return undefined;
    if (issuer.kind === 'default') return this.#authorities.find(undefined, site);
    return this.#authorities.find(issuer.name, site, issuer.mayCreate === true ? 'create' : 'fail');
  }

  /** Revokes a certificate that could open links (it has no purpose mark, or the one for links) and is for applications from now on. */
  async #refuse({ resource }: DesiredBundle, { facts: { serial, notAfter } }: ReadLeaf): Promise<void> {
    await this.#ledger.record({ siteName: resource, serial, notAfter });
    await this.#ledger.revoke(resource);
  }

  async #make(
    { name, resource, recordedAs = resource, order: { purpose: _purpose, ...order } }: DesiredBundle,
    purpose: CertificatePurpose | undefined,
    authority: Authority | undefined,
    days: number | undefined,
  ): Promise<CertificateFacts> {
    if (authority === undefined) {
      const own = await siteAuthority(this.#bundles, name, {
        siteName: order.subject,
        anchoredAs: resource,
        ...(this.#anchor === undefined ? {} : { anchor: this.#anchor }),
      });
      return this.#factsOf(name, own.certificate.toString());
    }
    const bundle = issueBundle(authority, name, {
      ...order,
      ...(purpose === undefined ? {} : { purpose }),
      ...(days === undefined || order.signing ? {} : { days }),
    });
    const facts = this.#factsOf(name, bundle.cert);
    await this.#ledger.record({ siteName: recordedAs, serial: bundle.serial, notAfter: facts.notAfter });
    await this.#bundles.put(bundle);
    return facts;
  }
}

interface ReadLeaf {
  readonly facts: CertificateFacts;
  readonly x509: X509Certificate;
  readonly purpose: CertificatePurpose | undefined;
}

function withPurposeOf(leaf: ReadLeaf | undefined, { order: { purpose, ...order }, ...planned }: DesiredBundle): DesiredBundle {
  const kept = leaf === undefined || purpose === undefined ? purpose : leaf.purpose;
  return { ...planned, order: { ...order, ...(kept === undefined ? {} : { purpose: kept }) } };
}

/** Checks the fields of a Certificate. @returns its purpose @throws TrustError `bad-argument` */
export function checkOrder({
  issuer,
  order: { purpose, signing },
}: Pick<DesiredBundle, 'issuer' | 'order'>): CertificatePurpose | undefined {
  if (issuer.kind === 'self' && !signing)
    throw new TrustError(
      'bad-argument',
      'only a signing certificate can sign itself; name an authority in spec.ca, such as earshot-site-ca',
    );
  if (purpose === undefined || purpose === 'link' || purpose === 'application') return purpose;
  throw new TrustError('bad-argument', `settings.${PURPOSE} is ${quoted(purpose, 100)}, and must be "link" or "application"`);
}

function stands({ facts, x509, purpose }: ReadLeaf, desired: DesiredBundle, authority: Authority | undefined, now: number): boolean {
  return (
    serves(facts, desired) &&
    isFor(x509, desired) &&
    (desired.order.purpose === undefined || desired.order.purpose === purpose) &&
    // False if the certificate was issued while the clock was ahead.
    facts.notBefore <= now &&
    isOf(authority, { x509 }) &&
    !isRenewalDue(facts, now)
  );
}

/** @param authority undefined for a self-signed certificate */
const isOf = (authority: Authority | undefined, { x509 }: Pick<ReadLeaf, 'x509'>): boolean =>
  authority === undefined || x509.checkIssued(authority.certificate);

const nameTaken = (name: string): TrustError =>
  new TrustError('name-taken', `${name} is already the TLS bundle of a link that a token created, and would be replaced: use another name`);

/** Additional names are accepted, so that an address that comes and goes does not cause a new certificate each time. */
function serves(facts: CertificateFacts, { order }: DesiredBundle): boolean {
  const isWithin = order.isExact !== true || namesAll(order.hosts, facts.hosts);
  return facts.commonName === order.subject && facts.isAuthority === order.signing && namesAll(facts.hosts, order.hosts) && isWithin;
}

function isFor(certificate: X509Certificate, { order }: DesiredBundle): boolean {
  // CA certificates have no extended key usage.
  if (order.signing) return true;
  const found = new Set(certificate.keyUsage);
  return order.server === found.has(Use.server) && order.client === found.has(Use.client);
}
