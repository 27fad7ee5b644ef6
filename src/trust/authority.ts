import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { checkBundle, isAboutDates } from '../identity/bundle-check.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';
import { isCertificateBlock, readPem, writePem } from '../x509/pem.ts';
import { createKey } from '../x509/request.ts';
import { checkAuthority, type AnchoredAuthority, type AnchorStore } from './anchor.ts';
import type { Authority, Clock } from './contract.ts';
import { TrustError } from './errors.ts';
import { buildRoot } from './issue.ts';
import type { Bundles } from './stores.ts';

const ROOT_DAYS = 3_650;

export interface SiteAuthorityOptions {
  readonly siteName: string;
  /** Common name of a new authority, if it is not the site's. */
  readonly subject?: string;
  readonly clock?: Clock;
  readonly anchor?: AnchorStore;
  /** Name in the anchor, if bundles of another directory may have the same name (default: the bundle's name). */
  readonly anchoredAs?: string;
}

/**
 * Returns the site's own authority. It is created on first use and never again, since every certificate and token of the site depends on
 * it. A missing, incomplete or replaced authority is an error.
 * @param name name of its bundle
 */
export async function siteAuthority(bundles: Bundles, name: string, options: SiteAuthorityOptions): Promise<Authority> {
  const { anchor, anchoredAs = name } = options;
  if (anchor === undefined) return openAuthority(bundles, name, options);
  const known = await anchor.get();
  const check = (found: Partial<AnchoredAuthority>): void =>
    checkAuthority(known, anchoredAs, found, bundles.locationOf(name), anchor.location);
  if ((await bundles.get(name)) === undefined) check({});
  const authority = await openAuthority(bundles, name, options);
  const key = authorityKeyOf(authority.certificate);
  check({ key });
  if (known.authorities[anchoredAs]?.key !== key) {
    await anchor.change((before) => ({ ...before, authorities: { ...before.authorities, [anchoredAs]: { key } } }));
  }
  return authority;
}

async function openAuthority(bundles: Bundles, name: string, options: SiteAuthorityOptions): Promise<Authority> {
  const { siteName, subject = `earshot site ${siteName}`, clock = Date.now } = options;
  const bundle = await bundles.make(name, () => makeRoot(name, subject, clock));
  const damaged = (what: string, cause?: unknown): TrustError =>
    new TrustError(
      'state-damaged',
      `the site's certificate authority in ${bundles.locationOf(name)} is damaged: ${what}. Restore the directory from a backup; ` +
        'or delete it and internal/anchor.json to create a new authority: then all links to this site and all tokens must be issued again',
      cause,
    );
  if (bundle.cert === undefined) throw damaged('tls.crt is missing');
  if (bundle.key === undefined) throw damaged('tls.key is missing');
  try {
    return authorityOf(bundle, 'the site authority', clock);
  } catch (error) {
    // An expired authority, or a wrong clock, is not damage.
    if (!(error instanceof TrustError) || isAboutDates(error.code)) throw error;
    throw damaged(error.message, error);
  }
}

function makeRoot(name: string, subject: string, clock: Clock): TlsBundle {
  const key = createKey();
  // The subject need not be unique among sites of the same name: the key identifiers distinguish authorities.
  const der = buildRoot(subject.slice(0, 64), createPrivateKey(key), ROOT_DAYS, clock());
  return { name, key, cert: writePem('CERTIFICATE', der) };
}

/** Opens a user's authority: `tls.crt`, `tls.key`, and `ca.crt` if `tls.crt` does not contain the root. @throws TrustError */
export async function readAuthority(bundles: Bundles, name: string, clock: Clock = Date.now): Promise<Authority> {
  const bundle = await bundles.get(name);
  if (bundle?.cert === undefined && bundle?.key === undefined) {
    throw new TrustError(
      'authority-missing',
      `the certificate authority ${JSON.stringify(name)} does not exist: put its tls.crt and tls.key into ${bundles.locationOf(name)}`,
    );
  }
  return authorityOf(bundle, name, clock);
}

/** @throws TrustError with the first problem */
export function authorityOf(bundle: TlsBundle, name: string, clock: Clock): Authority {
  const check = checkBundle(bundle, { kind: 'authority' }, clock);
  if (!check.ok) throw new TrustError(check.problems[0].code, check.problems[0].message);
  // checkBundle has already parsed both parts.
  const certificates = certificatesOf(bundle.cert ?? '');
  const [certificate] = certificates;
  if (certificate === undefined) throw new TrustError('tls-no-cert', `bundle ${name}: tls.crt contains no certificate`);
  const key = createPrivateKey(bundle.key ?? '');
  const roots = certificates.filter(isSelfIssued);
  const last = roots.at(-1) ?? certificate;
  return {
    name,
    certificate,
    key,
    chain: certificates
      .filter((one) => !isSelfIssued(one))
      .map(pemOf)
      .join(''),
    ca: bundle.ca === undefined ? pemOf(last) : certificatesOf(bundle.ca).map(pemOf).join(''),
  };
}

/** SHA-256 of a certificate's public key, hex. Distinguishes authorities of the same name. */
export function authorityKeyOf({ publicKey }: Pick<X509Certificate, 'publicKey'>): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

const certificatesOf = (pem: string): X509Certificate[] =>
  readPem(pem)
    .filter(isCertificateBlock)
    .map(({ der }) => new X509Certificate(der));

const isSelfIssued = (certificate: X509Certificate): boolean => certificate.checkIssued(certificate);
const pemOf = (certificate: X509Certificate): string => writePem('CERTIFICATE', certificate.raw);
