import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import type { SiteKey } from '../../identity/site-key.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Authority, Clock } from '../contract.ts';
import type { GrantStore, Ledger } from '../stores.ts';

/** Data from which a redeemer creates a Link. */
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

/** Site that issued a grant: counts its redemptions and signs certificates. */
export interface GrantRealm {
  readonly store: GrantStore;
  readonly ledger: Ledger;
  /** Returns the authority with a grant's `issuer` name, or the site's default. @throws TrustError `authority-missing` */
  authority(issuer: string | undefined): Authority | Promise<Authority>;
  offer(): LinkOffer;
  /** Lifetime of certificates for other sites, in days (default: 30). */
  readonly certificateDays?: number;
}

export interface GrantServerOptions {
  readonly host?: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Certificate of the server. Tokens contain its `ca`. */
  readonly tls: IssuedBundle;
  /** Returns the realm of a grant; undefined if no grant has that name. */
  realm(grant: string): GrantRealm | undefined;
  readonly clock?: Clock;
  /** Monotonic clock for the pauses after wrong codes. */
  readonly monotonic?: Clock;
  readonly log?: Pick<Logger, 'info' | 'warn'>;
  readonly limits?: Partial<GrantServerLimits>;
}

export interface GrantServerLimits {
  readonly bodyBytes: number;
  readonly requestMilliseconds: number;
  /** Number of concurrent redemptions with a valid code. Others wait, round-robin by address. */
  readonly redemptionsAtOnce: number;
  /**
   * Number of open connections, in total and for each address. When full, the oldest connection of the address with the most is evicted.
   */
  readonly connections: number;
  readonly connectionsOfAddress: number;
}

export interface GrantServer extends AsyncDisposable {
  readonly port: number;
  /** Number of responses since the start by result, for metrics. */
  readonly answered: Readonly<Record<string, number>>;
  /** Applies to new connections. */
  setTls(bundle: IssuedBundle): void;
}

export interface Token {
  readonly name: string;
  readonly url: string;
  /** URLs of the same grant at other addresses of the site, tried in order if `url` fails. */
  readonly otherUrls?: readonly string[];
  readonly code: string;
  readonly ca: string;
  readonly linkCost?: number;
}

export interface RedeemOptions {
  readonly siteName: string;
  readonly siteId: string;
  readonly siteKey: SiteKey;
  /** PKCS #8 PEM. Keep it until the bundle is stored (see PendingKeys): a retry with the same key does not count as a second redemption. */
  readonly key: string;
  /** Milliseconds (default: 30 s). */
  readonly timeoutMilliseconds?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

export interface Redeemed {
  readonly offer: LinkOffer;
  readonly linkCost: number;
  /** Has the name of the token. */
  readonly bundle: IssuedBundle;
}
