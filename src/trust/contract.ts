/**
 * What this room takes and gives: PEM texts, plain data, and stores that own a directory which they are given. It knows
 * certificates, not resources; whoever calls it turns a problem into a status.
 */
import type { Buffer } from 'node:buffer';
import type { KeyObject, X509Certificate } from 'node:crypto';
import type { CodeOf, ErrorCode } from '../errors/catalogue.ts';

/** Milliseconds since 1970. Everything that asks the time takes one, so that a wrong clock can be tried. */
export type Clock = () => number;

/** What is wrong with a certificate, a token or a file of this room: for a status, a log line and a metric. */
export interface TrustProblem {
  readonly code: TrustCode;
  /** What is wrong, where, and what to do. Never holds a key or a code. */
  readonly message: string;
}

export type TrustCode =
  | CodeOf<'tls' | 'trust'>
  | Extract<ErrorCode, 'state-damaged' | 'state-unavailable' | 'state-busy' | 'revoked' | 'unreachable'>;

/** About a bundle of `tls.crt`, `tls.key` and `ca.crt`. */
export type TlsCode = CodeOf<'tls'>;

/** The Ed25519 key of a site (the same shape as the router's). */
export interface SigningKey {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** 64 bytes. */
  sign(message: Uint8Array): Buffer;
}

/** PEM texts as they lie in a directory or a Secret (the same shape as the router's). */
export interface PemBundle {
  readonly name: string;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
}

/** A bundle with nothing missing, as Earshot issues it. */
export interface IssuedBundle extends PemBundle {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** A certificate authority that can sign. */
export interface Authority {
  readonly name: string;
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
  /** What goes behind a certificate in `tls.crt`: intermediates, none for a root. PEM. */
  readonly chain: string;
  /** What verifies its certificates: `ca.crt`. PEM. */
  readonly ca: string;
}

export interface CertificateOrder {
  /** The common name, 1 to 64 characters. */
  readonly subject: string;
  /** DNS names (a leading `*.` may stand) and IP addresses. */
  readonly hosts?: readonly string[];
  /** `urn:uuid:SITE-ID` of it goes into the certificate. */
  readonly siteId?: string;
  readonly client?: boolean;
  readonly server?: boolean;
  /** An authority below this one. */
  readonly signing?: boolean;
  /** Default 30. Never beyond the authority's own end. */
  readonly days?: number;
}

export interface IssuedCertificate {
  /** With intermediates, PEM. */
  readonly cert: string;
  readonly ca: string;
  /** Upper-case hex as `X509Certificate.serialNumber` gives it. */
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** What a bundle is to be used for. */
export type Purpose =
  /** Our own server: needs `cert` and `key`; `hosts` that clients will use must be covered. */
  | { readonly kind: 'server'; readonly hosts?: readonly string[]; readonly clientCa?: boolean }
  /** Our own client: needs `cert` and `key`, and `ca` where the server is verified by it. */
  | { readonly kind: 'client'; readonly serverCa?: boolean }
  /** Only `ca` is used. */
  | { readonly kind: 'trust' }
  /** Signs others: `cert` and `key`. */
  | { readonly kind: 'authority' };

export type BundleCheck =
  | { readonly ok: true; readonly leaf?: CertificateFacts; readonly warnings: readonly TrustProblem[] }
  | { readonly ok: false; readonly problems: readonly [TrustProblem, ...TrustProblem[]] };

/** What a status or a metric shows of a certificate. */
export interface CertificateFacts {
  readonly subject: string;
  readonly commonName?: string;
  readonly issuer: string;
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly hosts: readonly string[];
  readonly siteId?: string;
  readonly isAuthority: boolean;
}

/** A grant as its resource asks for it. */
export interface GrantSpec {
  /** An RFC 1123 label or subdomain; the last part of the URL. */
  readonly name: string;
  /** The owner's own code. Without it, one of 160 bits is made. */
  readonly code?: string;
  readonly redemptionsAllowed: number;
  readonly expirationWindowSeconds: number;
  /** The authority's name; without it the site's default. */
  readonly issuer?: string;
}

/** A grant as its status shows it. */
export interface Grant {
  readonly name: string;
  readonly code: string;
  readonly issuer?: string;
  readonly redemptionsAllowed: number;
  readonly redemptions: number;
  readonly created: number;
  readonly expires: number;
  readonly redeemedBy: readonly { readonly siteId: string; readonly siteName: string; readonly at: number }[];
}

/**
 * The grants of a site, a file each (mode 0600). One process at a time owns the directory. A redemption is on disk before
 * its certificate is made, so no crash gives more than were allowed; one cut short may cost a redemption, which the same
 * site gets back by asking again with the same key.
 */
export interface GrantStore extends AsyncDisposable {
  /** Makes the grant, or changes one to a new spec. The time runs from when it was made. */
  ensure(spec: GrantSpec): Promise<Grant>;
  get(name: string): Grant | undefined;
  list(): readonly Grant[];
  remove(name: string): Promise<void>;
  /** Files that are not as we wrote them: their grants are refused until someone looks. */
  readonly damaged: readonly TrustProblem[];
  /** Whether a code opens a grant now; counts nothing. @throws TrustError `token-…` */
  check(name: string, code: string): Grant;
  /** Counts it, on disk. @throws TrustError `token-…`, `revoked`, `state-…` */
  redeem(attempt: RedeemAttempt): Promise<Grant>;
  /** Called after each redemption, to bring the status up to date. @returns how to end that */
  onChange(listener: (grant: Grant) => void): () => void;
}

export interface RedeemAttempt {
  readonly grant: string;
  readonly code: string;
  readonly siteId: string;
  readonly siteName: string;
  /** SHA-256 of the public key that is to be certified, hex: the same one again is the same redemption. */
  readonly keyHash: string;
}

/** One line of the record of what was issued to other sites. */
export interface IssuedEntry {
  readonly siteName: string;
  readonly siteId?: string;
  readonly serial: string;
  readonly notAfter: number;
}

export interface RevokedSite {
  readonly name: string;
  readonly at: number;
  readonly siteIds: readonly string[];
  readonly serials: readonly string[];
}

/** What the router refuses (the same shape as the router's). */
export interface Revocations {
  readonly sites: readonly string[];
  readonly serials: readonly string[];
}

/**
 * What was issued to other sites (`issued.jsonl`) and which of them are out (`revoked.yaml`). Several processes may use one
 * directory at once: the running site and a command.
 */
export interface Ledger {
  /** Puts a certificate on record before it is handed out. @throws TrustError `revoked` where its site is out by now */
  record(entry: IssuedEntry): Promise<void>;
  issued(): Promise<readonly IssuedEntry[]>;
  revoked(): Promise<readonly RevokedSite[]>;
  /**
   * All that was ever issued to a site, by name or by id, is refused from now on, for good. The same site id stays out until
   * `unrevoke`; so do grants made before this moment, for a site of that name and for the one who had used them. A site
   * of that name with another id comes in by a grant made afterwards.
   */
  revoke(site: string): Promise<RevokedSite>;
  /** @returns whether it was revoked */
  unrevoke(site: string): Promise<boolean>;
}

/** What a redeemer needs to make a Link of. */
export interface LinkOffer {
  readonly siteId: string;
  readonly siteName: string;
  readonly endpoints: readonly OfferedEndpoint[];
}

export interface OfferedEndpoint {
  /** `inter-router` or `edge`. */
  readonly name: string;
  readonly host: string;
  readonly port: string;
  readonly group?: string;
}

export interface GrantServerOptions {
  readonly host?: string;
  /** 0 for any. */
  readonly port: number;
  /** The server's certificate; its `ca` is what tokens carry. */
  readonly tls: IssuedBundle;
  readonly store: GrantStore;
  readonly ledger: Ledger;
  /** The authority of a grant's `issuer`, or the site's default. @throws TrustError `authority-missing` */
  authority(issuer: string | undefined): Authority | Promise<Authority>;
  /** Asked at each redemption. */
  offer(): LinkOffer;
  readonly clock?: Clock;
  /** Never goes back: for how long who guesses must wait. */
  readonly monotonic?: Clock;
  /** How long the certificates of other sites last. Default 30. */
  readonly certificateDays?: number;
  readonly log?: GrantServerLog;
  readonly limits?: Partial<GrantServerLimits>;
}

/** As much of a logger as is used. */
export interface GrantServerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface GrantServerLimits {
  readonly bodyBytes: number;
  readonly requestMilliseconds: number;
  readonly concurrentRequests: number;
  readonly connections: number;
}

export interface GrantServer extends AsyncDisposable {
  readonly port: number;
  /** Counted since the start, by what was answered: for metrics. */
  readonly answered: Readonly<Record<string, number>>;
  /** New connections use it. */
  setTls(bundle: IssuedBundle): void;
}

/** An AccessToken, parsed. */
export interface Token {
  readonly name: string;
  readonly url: string;
  readonly code: string;
  readonly ca: string;
  readonly linkCost?: number;
}

export interface RedeemOptions {
  readonly siteName: string;
  readonly siteId: string;
  readonly siteKey: SigningKey;
  /** PKCS#8 PEM; keep it until the bundle is stored (see PendingKeys): a retry with the same key costs no second redemption. */
  readonly key: string;
  /** Default 10 s. */
  readonly timeoutMilliseconds?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

export interface Redeemed {
  readonly offer: LinkOffer;
  readonly linkCost: number;
  /** Named like the token. */
  readonly bundle: IssuedBundle;
}

/** Keys that wait for their certificate: made once, kept over a restart, dropped when the bundle is stored. Mode 0600. */
export interface PendingKeys {
  /** The key of that name, PKCS#8 PEM; made where there is none. */
  keyFor(name: string): Promise<string>;
  drop(name: string): Promise<void>;
}

export interface RenewalPlan {
  readonly due: boolean;
  /** When it is or was due. */
  readonly at: number;
  readonly expires: number;
}

export interface RenewalRequest {
  /** PKCS #10, PEM, for `router.renew`. */
  readonly csr: string;
  /** PKCS#8 PEM, for the new bundle. */
  readonly key: string;
}
