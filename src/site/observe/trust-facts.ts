import type { Problem } from '../../router/contract.ts';

/** Results of trust, by the name of the resource. Times are milliseconds since 1970. */
export interface TrustFacts {
  readonly grants: ReadonlyMap<string, GrantFacts>;
  readonly tokens: ReadonlyMap<string, TokenFacts>;
  readonly certificates: ReadonlyMap<string, CertificateState>;
  /** Name of the CA in use. */
  readonly defaultIssuer?: string;
}

export interface GrantFacts {
  readonly code?: string;
  readonly url?: string;
  readonly ca?: string;
  readonly redemptions: number;
  readonly redemptionsAllowed: number;
  readonly expires?: number;
  readonly expired: boolean;
  readonly problem?: Problem;
}

export interface TokenFacts {
  readonly redeemed: boolean;
  readonly problem?: Problem;
  /** Whether a retry may resolve the problem; `soon` while no user needs to act. */
  readonly retrying?: 'soon' | 'later' | 'never';
}

export interface CertificateState {
  readonly expires?: number;
  readonly problem?: Problem;
}

export const noTrust: TrustFacts = { grants: new Map(), tokens: new Map(), certificates: new Map() };
