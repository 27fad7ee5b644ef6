/** Stores of a site's trust. Each has an implementation on a directory (`disk/`). One contract suite covers all implementations. */
import type { Problem } from '../errors/problem.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';
import { TrustError } from './errors.ts';
import { quoted } from '../text/printable.ts';
import { isResourceName } from '../text/names.ts';

/** TLS bundles by name. All methods reject an invalid name. @throws TrustError `bad-argument`, `state-unavailable` */
export interface Bundles {
  /** Returns the parts that exist; undefined if there are none. */
  get(name: string): Promise<TlsBundle | undefined>;
  /** Returns all bundles. The result is the same object as before if nothing has changed. */
  list(): Promise<BundleSet>;
  /** Replaces all three parts atomically: a reader finds either the old or the new ones. */
  put(bundle: TlsBundle): Promise<void>;
  /** Creates a bundle unless one exists. Concurrent calls create it once. Existing parts are never replaced, even if some are missing. */
  make(name: string, make: () => TlsBundle): Promise<TlsBundle>;
  /** Location for messages to users. */
  locationOf(name: string): string;
}

/** TLS bundles by name, sorted. An unchanged bundle is the same object as before. */
export interface BundleSet {
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Reasons why existing bundles are unreadable, by name. */
  readonly unreadable: ReadonlyMap<string, Problem>;
  /** Set if the place of all bundles cannot be listed, so bundles may be missing here. */
  readonly isUnlisted?: true;
}

/**
 * Grants of a site, owned by one process at a time. A redemption is stored before its certificate is issued, so a crash never permits more
 * than allowed. It may use up a redemption, which the same site recovers by a retry with the same key.
 */
export interface GrantStore extends AsyncDisposable {
  /** Creates the grant, or applies a changed spec. The expiration counts from its creation. @throws TrustError `bad-argument`, `state-…` */
  ensure(spec: GrantSpec): Promise<Grant>;
  get(name: string): Grant | undefined;
  list(): readonly Grant[];
  remove(name: string): Promise<void>;
  /** Errors of invalid records. Their grants are refused until a person acts. */
  readonly damaged: readonly TrustError[];
  /** Checks whether a code is valid now, without counting a redemption. @throws TrustError `token-…` */
  check(name: string, code: string): Grant;
  /** Counts a redemption and stores the count. @throws TrustError `token-…`, `revoked`, `state-…` */
  redeem(attempt: RedeemAttempt): Promise<Grant>;
  /** Calls the listener after each redemption, to update the status. @returns a function that removes the listener */
  onChange(listener: (grant: Grant) => void): () => void;
}

export interface GrantSpec {
  /** RFC 1123 label or subdomain; the last segment of the URL. */
  readonly name: string;
  /** The owner's own code. If omitted, the store creates one of 160 bits. */
  readonly code?: string;
  readonly redemptionsAllowed: number;
  readonly expirationWindowSeconds: number;
  /** Name of the authority; the site's default if omitted. */
  readonly issuer?: string;
  /** Grant as its status shows it. The record may be lost or an older copy. */
  readonly known?: KnownGrant;
}

/** Knowledge about a grant besides its record. */
export interface KnownGrant {
  readonly redemptions: number;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

export interface Grant {
  readonly name: string;
  readonly code: string;
  /** A person chose the code, so it may be guessable. */
  readonly ownCode: boolean;
  readonly issuer?: string;
  readonly redemptionsAllowed: number;
  /** Greater than the length of `redeemedBy` if a record was lost. */
  readonly redemptions: number;
  readonly created: number;
  /**
   * Mark of the last revocation before its creation, from `lastRevocation`. Records of earlier versions have none; then times are compared.
   */
  readonly lastRevocation?: string;
  readonly expires: number;
  readonly redeemedBy: readonly { readonly siteId: string; readonly siteName: string; readonly at: number }[];
}

export interface RedeemAttempt {
  readonly grant: string;
  readonly code: string;
  readonly siteId: string;
  readonly siteName: string;
  /** SHA-256 of the public key to certify, hex. The same hash again is the same redemption. */
  readonly keyHash: string;
}

/**
 * Record of issued certificates and revoked sites. Several processes may use it at once: the running site and a command. A certificate is
 * either on record before its site is revoked, and revoked with it, or refused.
 */
export interface Ledger {
  /**
   * Records a certificate before it is handed out.
   * @param basis what the certificate derives from; omitted if that cannot be revoked
   * @throws TrustError `revoked` if its site or its basis is revoked by now
   */
  record(entry: IssuedEntry, basis?: Basis): Promise<void>;
  /** Yields entries one at a time, in order. Damaged entries are skipped and reported by the store. Expired entries may be gone. */
  issued(): AsyncIterable<IssuedEntry>;
  /** @throws TrustError `state-damaged`: treating an unreadable list as empty would lift every revocation */
  revoked(): Promise<readonly RevokedSite[]>;
  /**
   * Refuses for good all certificates issued to a site, given by name or ID. The ID, which needs no record, stays revoked until `unrevoke`.
   * Earlier grants admit no site of that name, and none at all if the site had used them. Later grants admit a site of that name with
   * another ID. A name of no site is looked up among the Certificates, whose later certificates are not refused.
   * @throws EarshotError `unknown-site` for a name
   */
  revoke(site: string): Promise<RevokedSite>;
  /** @returns whether the site was revoked */
  unrevoke(site: string): Promise<boolean>;
}

/** Ledger with an anchor (`anchor.ts`), which detects that the ledger is missing or an older copy. */
export interface AnchoredLedger extends Ledger {
  /** Restores what the anchor still has, and adds new entries to the anchor. @returns findings for the status of the Site */
  mend(): Promise<readonly LedgerFinding[]>;
}

export interface LedgerFinding extends Problem {
  readonly severity: 'error' | 'warning';
}

/**
 * Entry for each certificate that an authority of the site has signed and that its holder can present, for any purpose. A certificate of an
 * entry with `siteId` contains that ID (`urn:uuid:`); any other is identified by its serial number alone.
 */
export interface IssuedEntry {
  /** Name of the remote site; `link-ACCESS` for a link without a token; otherwise the resource, such as `Certificate/my-app`. */
  readonly siteName: string;
  readonly siteId?: string;
  /** Upper-case hex, in the form of `X509Certificate.serialNumber`. */
  readonly serial: string;
  readonly notAfter: number;
}

/** Origin of a certificate. */
export type Basis =
  | { readonly kind: 'renewal'; /** Serial number of the predecessor. */ readonly serial: string }
  | { readonly kind: 'redemption'; readonly attempt: RedeemAttempt; /** Includes this redemption. */ readonly grant: Grant };

/** Revoked site. Every peer that presents one of its IDs or serial numbers is refused. */
export interface RevokedSite {
  /** Name on record (`IssuedEntry.siteName`), or an ID without a record. */
  readonly name: string;
  readonly at: number;
  readonly siteIds: readonly string[];
  readonly serials: readonly string[];
}

/** Keys that wait for their certificate: created once, kept across restarts, dropped when the bundle is stored. */
export interface PendingKeys {
  /** Returns the key with that name (PKCS #8 PEM), and creates it if necessary. @throws TrustError `bad-argument` if the name is invalid */
  keyFor(name: string): Promise<string>;
  drop(name: string): Promise<void>;
}

/** @throws TrustError `bad-argument` if a bundle or a pending key cannot have the name */
export function refuseName(name: string): void {
  if (isResourceName(name)) return;
  throw new TrustError('bad-argument', `${quoted(name, 100)} cannot be the name of a TLS bundle`);
}
