import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import type { SiteKey } from '../../identity/site-key.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Authority, Clock } from '../contract.ts';
import type { GrantStore, Ledger } from '../stores.ts';

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

/** The site that a grant is of: where its redemptions are counted, and who signs. */
export interface GrantRealm {
  readonly store: GrantStore;
  readonly ledger: Ledger;
  /** The authority of a grant's `issuer`, or the site's default. @throws TrustError `authority-missing` */
  authority(issuer: string | undefined): Authority | Promise<Authority>;
  offer(): LinkOffer;
  /** How long the certificates of other sites last. Default 30. */
  readonly certificateDays?: number;
}

export interface GrantServerOptions {
  readonly host?: string;
  /** 0 for any. */
  readonly port: number;
  /** The server's certificate; its `ca` is what tokens carry. */
  readonly tls: IssuedBundle;
  /** Whose grant that is; undefined where there is none of that name. */
  realm(grant: string): GrantRealm | undefined;
  readonly clock?: Clock;
  /** Never goes back: for how long who guesses must wait. */
  readonly monotonic?: Clock;
  readonly log?: Pick<Logger, 'info' | 'warn'>;
  readonly limits?: Partial<GrantServerLimits>;
}

export interface GrantServerLimits {
  readonly bodyBytes: number;
  readonly requestMilliseconds: number;
  /** Of those that have shown a code. Others wait, those of each address in turn. */
  readonly redemptionsAtOnce: number;
  /** That may be open: of all, and of one address. For one more, the oldest of the address that has most of them is ended. */
  readonly connections: number;
  readonly connectionsOfAddress: number;
}

export interface GrantServer extends AsyncDisposable {
  readonly port: number;
  /** Counted since the start, by what was answered: for metrics. */
  readonly answered: Readonly<Record<string, number>>;
  /** New connections use it. */
  setTls(bundle: IssuedBundle): void;
}

export interface Token {
  readonly name: string;
  readonly url: string;
  /** The same grant at other addresses of the site, tried in turn where `url` leads nowhere. */
  readonly otherUrls?: readonly string[];
  readonly code: string;
  readonly ca: string;
  readonly linkCost?: number;
}

export interface RedeemOptions {
  readonly siteName: string;
  readonly siteId: string;
  readonly siteKey: SiteKey;
  /** PKCS#8 PEM; keep it until the bundle is stored (see PendingKeys): a retry with the same key costs no second redemption. */
  readonly key: string;
  /** Default 30 s. */
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
