/**
 * Trust: a site's certificate authority, the certificates that it gives, grants and tokens, renewal and revocation.
 */
import type {
  Authority,
  BundleCheck,
  CertificateFacts,
  CertificateOrder,
  Clock,
  GrantServer,
  GrantServerOptions,
  GrantStore,
  IssuedBundle,
  IssuedCertificate,
  Ledger,
  PemBundle,
  PendingKeys,
  Purpose,
  RedeemOptions,
  Redeemed,
  RenewalPlan,
  RenewalRequest,
  Revocations,
  RevokedSite,
  Token,
} from './contract.ts';
import { TrustError } from './errors.ts';

export type * from './contract.ts';
export { TrustError } from './errors.ts';

const soon = (): never => {
  throw new TrustError('bad-argument', 'not written yet');
};

/** The site id that belongs to a raw Ed25519 public key: a UUID of version 8 (RFC 9562) from its SHA-256. */
export const siteIdOf: (publicKey: Uint8Array) => string = soon;

/** The site's own authority; made on first use. `directory` holds `tls.crt` and `tls.key`. Damage is named, never replaced. */
export const openSiteAuthority: (directory: string, options: { readonly siteName: string; readonly clock?: Clock }) => Promise<Authority> = soon;
/** A user's authority: `tls.crt`, `tls.key`, and `ca.crt` where `tls.crt` does not hold the root. @throws TrustError */
export const readAuthority: (directory: string, name: string, clock?: Clock) => Promise<Authority> = soon;

/** Signs a certificate for the key of a request or for a public key (PEM). The request's own subject and extensions are not looked at. */
export const issueCertificate: (
  authority: Authority,
  order: CertificateOrder & ({ readonly csr: string } | { readonly publicKey: string }),
  clock?: Clock,
) => IssuedCertificate = soon;
/** Makes a key (ECDSA P-256) and a certificate for it. */
export const issueBundle: (authority: Authority, name: string, order: CertificateOrder, clock?: Clock) => IssuedBundle & { readonly serial: string } = soon;
/** A new ECDSA P-256 key, PKCS#8 PEM. */
export const createKey: () => string = soon;
/** A certificate signing request (PKCS #10), PEM. */
export const createRequest: (key: string, subject: string) => string = soon;

/** Reads `tls.crt`, `tls.key` and `ca.crt` of a directory, those that are there. @throws TrustError where one cannot be read */
export const readBundle: (directory: string, name: string) => Promise<PemBundle> = soon;
/** Writes the bundle's files into the directory as one: readers see the old three or the new three. Modes 0700 and 0600. */
export const writeBundle: (directory: string, bundle: PemBundle) => Promise<void> = soon;
/** Whether a bundle can serve a purpose now, and if not, all that is wrong. */
export const checkBundle: (bundle: PemBundle, purpose: Purpose, clock?: Clock) => BundleCheck = soon;
/** The first certificate of a PEM text. @throws TrustError `tls-mangled`, saying where */
export const certificateFacts: (pem: string, where: string) => CertificateFacts = soon;

/** Takes the directory for this process. @throws TrustError `state-busy` with the other's pid */
export const openGrantStore: (directory: string, options: { readonly ledger: Ledger; readonly clock?: Clock }) => Promise<GrantStore> = soon;
/** `directory` is the namespace's `internal/`. */
export const openLedger: (directory: string, options?: { readonly clock?: Clock }) => Promise<Ledger> = soon;
/** For a router's config. */
export const revocationsOf: (revoked: readonly RevokedSite[]) => Revocations = soon;

/** HTTPS: `POST /v1/redeem/GRANT`. */
export const startGrantServer: (options: GrantServerOptions) => Promise<GrantServer> = soon;
/** The `url` of a grant's status and of its tokens. */
export const grantUrl: (host: string, port: number, grant: string) => string = soon;

/** The YAML file of a token. */
export const writeToken: (token: Token) => Promise<string> = soon;
/** @param where named in errors. @throws TrustError `token-mangled`, saying which field */
export const readToken: (text: string, where: string) => Promise<Token> = soon;
/** Checks the fields of an AccessToken resource. @throws TrustError `token-mangled` */
export const parseToken: (resource: { readonly metadata?: unknown; readonly spec?: unknown }, where: string) => Token = soon;
/** @throws TrustError that says why not */
export const redeemToken: (token: Token, options: RedeemOptions) => Promise<Redeemed> = soon;

export const openPendingKeys: (directory: string) => PendingKeys = soon;
/** At two thirds of the certificate's life, earlier by up to a twentieth of it, so that what was issued together is not renewed together. */
export const renewalPlan: (facts: Pick<CertificateFacts, 'notBefore' | 'notAfter' | 'serial'>, now: number) => RenewalPlan = soon;
/** A request for the successor of a certificate, with a new key that is kept as pending under the bundle's name. */
export const requestRenewal: (bundle: PemBundle, pending: PendingKeys) => Promise<RenewalRequest> = soon;
/** The accepting side's answer, for `RouterHooks.renew`. @throws TrustError that says why not */
export const renewFor: (
  authority: Authority,
  peer: { readonly certificate: Uint8Array; readonly siteId: string },
  request: string,
  options: { readonly ledger: Ledger; readonly clock?: Clock; readonly days?: number },
) => Promise<IssuedCertificate> = soon;

/** Holds a directory's lock until disposed of; of all processes, one at a time. @throws TrustError `state-busy` after the wait */
export const acquireLock: (path: string, options?: { readonly waitMilliseconds?: number }) => Promise<AsyncDisposable> = soon;
