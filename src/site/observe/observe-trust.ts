import type {
  AccessGrant,
  AccessGrantStatus,
  AccessToken,
  AccessTokenStatus,
  Certificate,
  CertificateStatus,
} from '../../api/skupper/index.ts';
import type { Problem } from '../../router/contract.ts';
import type { View } from './observe.ts';
import { nameOf } from '../resources.ts';
import { configured, done, failed, verdict, waiting, warningsOf, type StepState } from './status.ts';
import { firstOf } from './observe-traffic.ts';

/** What trust has come to, by the resource's name. Times are milliseconds since 1970. */
export interface TrustFacts {
  readonly grants: ReadonlyMap<string, GrantFacts>;
  readonly tokens: ReadonlyMap<string, TokenFacts>;
  readonly certificates: ReadonlyMap<string, CertificateState>;
  /** Of the authority in use. */
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
  /** The problem may go by itself: it is tried again. */
  readonly retrying?: boolean;
}

export interface CertificateState {
  readonly expires?: number;
  readonly problem?: Problem;
}

export const noTrust: TrustFacts = { grants: new Map(), tokens: new Map(), certificates: new Map() };

export function observeGrant(grant: AccessGrant, view: View): AccessGrantStatus {
  const facts = view.trust.grants.get(nameOf(grant));
  const processed = firstOf(configured(view.own), trustStep(facts));
  const { url, code, ca } = facts ?? {};
  const resolved =
    url === undefined || ca === undefined ? waiting('no-address', 'the server where tokens are redeemed is being opened') : done;
  const spent: readonly string[] =
    facts === undefined
      ? []
      : facts.expired
        ? ['it has expired, so no more tokens can be redeemed']
        : facts.redemptions >= facts.redemptionsAllowed
          ? ['all its redemptions are used']
          : [];
  const steps = [
    { type: 'Processed', state: processed },
    { type: 'Resolved', state: resolved },
  ];
  return {
    ...verdict(steps, [...spent, ...warningsOf(view.own)], view.moment),
    ...(url === undefined ? {} : { url }),
    ...(code === undefined ? {} : { code }),
    ...(ca === undefined ? {} : { ca }),
    redemptions: facts?.redemptions ?? 0,
    ...(facts?.expires === undefined ? {} : { expirationTime: timeText(facts.expires) }),
  };
}

export function observeToken(token: AccessToken, view: View): AccessTokenStatus {
  const facts = view.trust.tokens.get(nameOf(token));
  const redeemed = facts?.redeemed === true;
  const trouble = facts?.problem;
  const state = redeemed
    ? done
    : trouble === undefined
      ? waiting('redeeming', 'it is being redeemed')
      : failed(facts?.retrying === true ? { code: trouble.code, message: `${trouble.message}. It is tried again.` } : trouble);
  return {
    ...verdict([{ type: 'Redeemed', state: redeemed ? done : firstOf(configured(view.own), state) }], warningsOf(view.own), view.moment),
    redeemed,
  };
}

export function observeCertificate(certificate: Certificate, view: View): CertificateStatus {
  const facts = view.trust.certificates.get(nameOf(certificate));
  const { conditions, ...words } = verdict(
    [{ type: 'Issued', state: firstOf(configured(view.own), trustStep(facts)) }],
    warningsOf(view.own),
    view.moment,
  );
  return {
    ...words,
    conditions: conditions.filter(({ type }) => type === 'Ready'),
    ...(facts?.expires === undefined ? {} : { expiration: timeText(facts.expires) }),
  };
}

function trustStep(facts: { readonly problem?: Problem } | undefined): StepState {
  if (facts === undefined) return waiting('processing', 'it is being processed');
  return facts.problem === undefined ? done : failed(facts.problem);
}

/** RFC 3339, seconds. */
function timeText(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}
