/**
 * What a site keeps of its trust. Each has an implementation on a directory (`disk/`), and one suite of tests says what all
 * implementations must do.
 */
import type { Problem } from '../errors/problem.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';
import { TrustError } from './errors.ts';
import { quoted } from '../text/printable.ts';
import { isResourceName } from '../text/names.ts';

/** TLS bundles by name. A name that cannot be one is refused by all. @throws TrustError `bad-argument`, `state-unavailable` */
export interface Bundles {
  /** Undefined where there is nothing of that name; of a bundle that is not whole, what is there. */
  get(name: string): Promise<TlsBundle | undefined>;
  /** All of them; the same object as before where nothing has changed. */
  list(): Promise<BundleSet>;
  /** Replaces all three parts as one: a reader finds the old ones or the new ones. */
  put(bundle: TlsBundle): Promise<void>;
  /**
   * Makes a bundle where nothing is, once, however many ask for it at the same time. What is there, whole or not, is never
   * replaced.
   */
  make(name: string, make: () => TlsBundle): Promise<TlsBundle>;
  /** Where a person finds it, for messages. */
  locationOf(name: string): string;
}

/** TLS bundles by name, in order. A bundle that has not changed is the same object as before. */
export interface BundleSet {
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Those that are there but cannot be read, and why. */
  readonly unreadable: ReadonlyMap<string, Problem>;
}

/**
 * The grants of a site, owned by one process at a time. A redemption is kept before its certificate is made, so no crash
 * gives more than were allowed; one cut short may cost a redemption, which the same site gets back by asking again with the
 * same key.
 */
export interface GrantStore extends AsyncDisposable {
  /** Makes the grant, or changes one to a new spec. The time runs from when it was made. @throws TrustError `bad-argument`, `state-…` */
  ensure(spec: GrantSpec): Promise<Grant>;
  get(name: string): Grant | undefined;
  list(): readonly Grant[];
  remove(name: string): Promise<void>;
  /** Records that are not as we wrote them: their grants are refused until someone looks. */
  readonly damaged: readonly TrustError[];
  /** Whether a code opens a grant now; counts nothing. @throws TrustError `token-…` */
  check(name: string, code: string): Grant;
  /** Counts it, and keeps the count. @throws TrustError `token-…`, `revoked`, `state-…` */
  redeem(attempt: RedeemAttempt): Promise<Grant>;
  /** Called after each redemption, to bring the status up to date. @returns how to end that */
  onChange(listener: (grant: Grant) => void): () => void;
}

export interface GrantSpec {
  /** An RFC 1123 label or subdomain; the last part of the URL. */
  readonly name: string;
  /** The owner's own code. Without it, one of 160 bits is made. */
  readonly code?: string;
  readonly redemptionsAllowed: number;
  readonly expirationWindowSeconds: number;
  /** The authority's name; without it the site's default. */
  readonly issuer?: string;
  /** What its status says of it: its record may be gone, or an older copy. */
  readonly known?: KnownGrant;
}

/** What is known of a grant besides its record. */
export interface KnownGrant {
  readonly redemptions: number;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

export interface Grant {
  readonly name: string;
  readonly code: string;
  /** A person has made the code, and others may guess it. */
  readonly ownCode: boolean;
  readonly issuer?: string;
  readonly redemptionsAllowed: number;
  /** More than `redeemedBy` has, where a record was lost. */
  readonly redemptions: number;
  readonly created: number;
  /** The last revocation before it was made, as `lastRevocation` has it. Earlier versions left it out: then times are compared. */
  readonly lastRevocation?: string;
  readonly expires: number;
  readonly redeemedBy: readonly { readonly siteId: string; readonly siteName: string; readonly at: number }[];
}

export interface RedeemAttempt {
  readonly grant: string;
  readonly code: string;
  readonly siteId: string;
  readonly siteName: string;
  /** SHA-256 of the public key that is to be certified, hex: the same one again is the same redemption. */
  readonly keyHash: string;
}

/**
 * What was issued, to whom, and who of them is revoked. Several processes may use one at once: the running site and a
 * command. A certificate is either on record before its site is revoked, and revoked with it, or refused.
 */
export interface Ledger {
  /**
   * Puts a certificate on record before it is handed out.
   * @param basis left out: nothing that can be revoked
   * @throws TrustError `revoked` where its site, or what it comes of, is out by now
   */
  record(entry: IssuedEntry, basis?: Basis): Promise<void>;
  /** In order, one at a time: however many there are. What is damaged is left out, and told by the store. Those that have ended may be gone. */
  issued(): AsyncIterable<IssuedEntry>;
  /** @throws TrustError `state-damaged`: to take what is unreadable for nothing would let everyone back in */
  revoked(): Promise<readonly RevokedSite[]>;
  /**
   * All that was ever issued to a site, by name or by id, is refused from now on, for good. The same site id stays out until
   * `unrevoke`; so do grants made before this moment, for a site of that name and for the one who had used them. A site
   * of that name with another id comes in by a grant made afterwards. An id needs no record. A name that no site has is looked for
   * among the Certificates; what is issued to one afterwards is not refused. @throws EarshotError `unknown-site` of a name
   */
  revoke(site: string): Promise<RevokedSite>;
  /** @returns whether it was revoked */
  unrevoke(site: string): Promise<boolean>;
}

/** A ledger with an anchor (`anchor.ts`), by which it notices that it is missing or an older copy. */
export interface AnchoredLedger extends Ledger {
  /** Puts back what the anchor still has, and anchors what is new. @returns what the Site is to say */
  mend(): Promise<readonly LedgerFinding[]>;
}

export interface LedgerFinding extends Problem {
  readonly severity: 'error' | 'warning';
}

/**
 * Every certificate that an authority of the site has signed and that its holder may show has one, whatever it is for. A certificate
 * with a `siteId` names that id itself (`urn:uuid:`); any other is known by its serial number alone.
 */
export interface IssuedEntry {
  /** To whom: the other site's name; `link-ACCESS` of a link made without a token; else the resource, as `Certificate/my-app`. */
  readonly siteName: string;
  readonly siteId?: string;
  /** Upper-case hex as `X509Certificate.serialNumber` gives it. */
  readonly serial: string;
  readonly notAfter: number;
}

/** What a certificate comes of. */
export type Basis =
  | { readonly kind: 'renewal'; /** Of the certificate that it is the successor of. */ readonly serial: string }
  | { readonly kind: 'redemption'; readonly attempt: RedeemAttempt; /** With this redemption. */ readonly grant: Grant };

/** Each of its ids and serials is refused, whoever shows it. */
export interface RevokedSite {
  /** As on record (`IssuedEntry.siteName`), or an id of which there is no record. */
  readonly name: string;
  readonly at: number;
  readonly siteIds: readonly string[];
  readonly serials: readonly string[];
}

/** Keys that wait for their certificate: made once, kept over a restart, dropped when the bundle is stored. */
export interface PendingKeys {
  /** The key of that name, PKCS#8 PEM; made where there is none. @throws TrustError `bad-argument` where it cannot be a name */
  keyFor(name: string): Promise<string>;
  drop(name: string): Promise<void>;
}

/** @throws TrustError `bad-argument` where a bundle or a pending key cannot have the name */
export function refuseName(name: string): void {
  if (isResourceName(name)) return;
  throw new TrustError('bad-argument', `${quoted(name, 100)} cannot be the name of a bundle`);
}
