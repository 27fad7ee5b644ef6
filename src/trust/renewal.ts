import { createHash, type X509Certificate } from 'node:crypto';
import { foreignToLinks, purposeOf } from '../identity/certificate-purpose.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';
import type { Authority, Clock, NewCertificate } from './contract.ts';
import type { IssuedEntry, Ledger, PendingKeys } from './stores.ts';
import type { CertificateFacts } from '../x509/facts.ts';
import { TrustError } from './errors.ts';
import { readCertificate, readCertificates, type ReadCertificate } from '../x509/facts.ts';
import { BACKDATE, issueCertificate } from './issue.ts';
import type { RenewalPace } from './renewal-pace.ts';
import { isResource, refuseRenewal } from './revocation.ts';
import { checkRequest, createRequest } from '../x509/request.ts';
import { asCommonName } from '../text/names.ts';
import { Use } from '../x509/parts.ts';
import { canHold } from '../x509/alternative-names.ts';

/**
 * At two thirds of the certificate's life, or earlier by up to a twentieth of it, so that certificates issued together are not renewed
 * together. Derived from the serial number, so the time of a certificate never changes.
 */
export function renewalTime({ notBefore, notAfter, serial }: Lifetime): number {
  const dice = createHash('sha256').update(serial).digest().readUInt32BE(0) / 2 ** 32;
  return Math.round(notBefore + (notAfter - notBefore) * (2 / 3 - dice / 20));
}

/** Never in the first half of the lifetime after issue. A short-lived certificate would otherwise be due at once, since it is backdated. */
export function isRenewalDue(facts: Lifetime, now: number): boolean {
  return now >= renewalDue(facts);
}

/** Time at which the renewal is due. */
export function renewalDue(facts: Lifetime): number {
  return Math.max(renewalTime(facts), lastHalf(facts));
}

/** Milliseconds from issue to expiry. */
const lifetimeOf = ({ notBefore, notAfter }: Lifetime): number => Math.max(notAfter - notBefore - BACKDATE, 0);

/** Start of the second half of the lifetime. */
const lastHalf = (facts: Lifetime): number => facts.notAfter - lifetimeOf(facts) / 2;

type Lifetime = Pick<CertificateFacts, 'notBefore' | 'notAfter' | 'serial'>;

/** Creates a request for the next certificate of a bundle. Its new key is pending under the bundle's name. */
export async function requestRenewal(bundle: TlsBundle, pending: PendingKeys): Promise<RenewalRequest> {
  const { commonName } = readCertificates(bundle.cert ?? '', `bundle ${bundle.name}: tls.crt`)[0].facts;
  const key = await pending.keyFor(bundle.name);
  return { key, csr: createRequest(key, asCommonName(commonName ?? bundle.name)) };
}

export interface RenewForOptions {
  readonly ledger: Ledger;
  readonly pace: RenewalPace;
  readonly clock?: Clock;
  readonly days?: number;
  /** The caller has verified that the certificate is a link's. If omitted, its mark, its site ID or the ledger must show that. */
  readonly isLink?: true;
  /** Name for the ledger, if it is not the site's. The entry then has no site ID, only the serial number. */
  readonly holder?: string;
}

/**
 * Answers a renewal request, for `RouterHooks.renew`. The new certificate has the names of the peer's certificate as far as possible, and
 * nothing else. It is on record before it is handed out.
 * @throws EarshotError with the reason of the refusal
 */
export async function renewFor(
  authority: Authority,
  peer: { readonly certificate: Uint8Array; readonly siteId: string },
  request: string,
  { ledger, pace, clock = Date.now, days = 30, isLink, holder }: RenewForOptions,
): Promise<NewCertificate> {
  const { siteId } = peer;
  const shown = readCertificate(peer.certificate, "the peer's certificate");
  checkIssuedBy(authority, shown);
  checkValid(shown.facts, clock());
  const siteName = checkRenewable(shown, siteId);
  using turn = pace.begin(shown.facts.serial, siteId, lifetimeOf(shown.facts), isTime(shown, clock()));
  try {
    refuseRenewal(shown.facts.serial, siteId, siteName, await ledger.revoked());
    if (isLink !== true) await checkLinks(shown, siteId, ledger);
    const requested = checkRequest(request).commonName;
    if (requested !== undefined && requested !== siteName) {
      throw new TrustError('request-malformed', `a renewal keeps the name ${JSON.stringify(siteName)}, and the request has another`);
    }
    const server = shown.uses?.includes(Use.server) === true;
    const hosts = shown.facts.hosts.filter(canHold);
    const order = { subject: siteName, siteId, hosts, client: true, server, purpose: 'link', csr: request, days } as const;
    const issued = issueCertificate(authority, order, clock);
    // `record` checks revocations again, since the site may have been revoked in the meantime.
    const entry = { serial: issued.serial, notAfter: issued.notAfter };
    const basis = { kind: 'renewal', serial: shown.facts.serial } as const;
    await ledger.record(holder === undefined ? { siteName, siteId, ...entry } : { siteName: holder, ...entry }, basis);
    return issued;
  } catch (error) {
    if (!isOfAsker(error)) turn.undo();
    throw error;
  }
}

/** Other errors are failures of this site, such as a full disk or an expired authority. */
const isOfAsker = (error: unknown): boolean => error instanceof EarshotError && FAULTS_OF_ASKER.has(error.code);
const FAULTS_OF_ASKER: ReadonlySet<ErrorCode> = new Set(['revoked', 'tls-wrong-purpose', 'tls-weak', 'request-malformed']);

function checkIssuedBy(authority: Authority, { x509, facts }: ReadCertificate): void {
  if (x509.checkIssued(authority.certificate) && x509.verify(authority.certificate.publicKey)) return;
  throw new TrustError(
    'tls-foreign-ca',
    `the certificate ${facts.serial} of ${facts.subject} was not issued by the authority ${authority.name}: renew it at its issuer`,
  );
}

/** @returns the name of the site */
function checkRenewable({ facts, uses, x509 }: ReadCertificate, siteId: string): string {
  if (facts.isAuthority || (uses !== undefined && !uses.includes(Use.client)) || foreignToLinks(x509) !== undefined) {
    throw new TrustError(
      'tls-wrong-purpose',
      `the certificate ${facts.serial} of ${facts.subject} is not the certificate of a link: only the certificate of the link itself is renewed over a link`,
    );
  }
  if (facts.commonName === undefined) {
    throw new TrustError('request-malformed', `the certificate ${facts.serial} has no common name, so its site is unknown`);
  }
  if (facts.siteId !== undefined && facts.siteId !== siteId) {
    throw new TrustError(
      'request-malformed',
      `the certificate ${facts.serial} belongs to site ${facts.siteId}, and site ${siteId} requests the renewal: it must redeem ` +
        'a token of its own',
    );
  }
  return asCommonName(facts.commonName);
}

/**
 * Decides on every platform whether a certificate of this site's authorities is a link certificate of the given site. It is on record as
 * one, or contains the mark and the site ID, even if the record was lost.
 * @param entry the ledger's entry of the certificate
 * @param acceptsUnmarked whether an unmarked certificate, from before marks existed, counts without an entry
 * @throws TrustError `tls-wrong-purpose`
 */
export function checkLinkOf(certificate: X509Certificate, siteId: string, entry: IssuedEntry | undefined, acceptsUnmarked: boolean): void {
  if (entry?.siteId !== undefined && entry.siteId !== siteId) throw notALinks(certificate, `it belongs to site ${entry.siteId}`);
  const purpose = purposeOf(certificate);
  const isOnRecord = entry !== undefined && (purpose === 'link' || !isResource(entry.siteName));
  if (isOnRecord || namesLinkOf(certificate, siteId) || (purpose === undefined && acceptsUnmarked)) return;
  throw notALinks(certificate, 'it is not on record');
}

export function notALinks({ serialNumber }: X509Certificate, why: string): TrustError {
  const words = `the certificate ${serialNumber} is not renewed, because it is not known as the certificate of a link: ${why}; redeem a new token`;
  return new TrustError('tls-wrong-purpose', words);
}

function namesLinkOf(certificate: X509Certificate, siteId: string): boolean {
  return purposeOf(certificate) === 'link' && readCertificate(certificate.raw, 'the certificate').facts.siteId === siteId;
}

async function checkLinks({ facts, x509 }: ReadCertificate, siteId: string, ledger: Ledger): Promise<void> {
  const entry = namesLinkOf(x509, siteId) ? undefined : await findEntry(ledger, facts.serial);
  checkLinkOf(x509, siteId, entry, facts.siteId !== undefined);
}

async function findEntry(ledger: Ledger, serial: string): Promise<IssuedEntry | undefined> {
  for await (const entry of ledger.issued()) if (entry.serial === serial) return entry;
  return undefined;
}

/** A certificate without a purpose mark is renewed early to get one. */
function isTime({ x509, facts }: ReadCertificate, now: number): boolean {
  return now >= lastHalf(facts) || purposeOf(x509) === undefined;
}

function checkValid(facts: CertificateFacts, now: number): void {
  if (now > facts.notAfter) {
    throw new TrustError(
      'tls-expired',
      `the certificate ${facts.serial} of ${facts.subject} expired at ${new Date(facts.notAfter).toISOString()} and can no longer be ` +
        'renewed: redeem a new token',
    );
  }
  if (now < facts.notBefore) {
    throw new TrustError(
      'tls-not-yet-valid',
      `the certificate ${facts.serial} of ${facts.subject} is not valid yet by the clock of this machine (${new Date(now).toISOString()}): ` +
        'set the clock',
    );
  }
}

export interface RenewalRequest {
  /** PKCS #10 PEM, for `router.renew`. */
  readonly csr: string;
  /** PKCS #8 PEM of the key for the new bundle. */
  readonly key: string;
}
