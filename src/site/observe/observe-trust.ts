import type {
  AccessGrant,
  AccessGrantStatus,
  AccessToken,
  AccessTokenStatus,
  Certificate,
  CertificateStatus,
} from '../../api/skupper/index.ts';
import type { Problem } from '../../router/contract.ts';
import { nameOf } from '../resources.ts';
import { timeText } from './time-text.ts';
import { configured, done, failed, firstOf, statusOf, waiting } from './status.ts';
import type { GrantFacts, TokenFacts } from './trust-facts.ts';
import type { View } from './view.ts';
import type { Progress } from './message-format.ts';

export function observeGrant(grant: AccessGrant, view: View): AccessGrantStatus {
  const facts = view.trust.grants.get(nameOf(grant));
  const { url, code, ca } = facts ?? {};
  const expires = facts?.expires === undefined ? grant.status?.expirationTime : timeText(facts.expires);
  const spent = spentNotes(facts);
  const conditions = {
    Processed: firstOf(configured(view), processed(facts)),
    Resolved:
      (url === undefined || ca === undefined) && spent.length === 0 ? waiting('no-address', 'the grant server is being opened') : done,
  };
  return {
    ...statusOf(conditions, view, { notes: [...spent, ...weakNotes(grant)] }),
    ...(url === undefined ? {} : { url }),
    ...(code === undefined ? {} : { code }),
    ...(ca === undefined ? {} : { ca }),
    // Keeps the former value while nothing is known: the status is the second copy of the grant's record.
    redemptions: Math.max(facts?.redemptions ?? 0, grant.status?.redemptions ?? 0),
    ...(expires === undefined ? {} : { expirationTime: expires }),
  };
}

function spentNotes(facts: GrantFacts | undefined): readonly string[] {
  if (facts?.expired === true) return ['it has expired, so no more tokens can be redeemed'];
  return facts !== undefined && facts.redemptions >= facts.redemptionsAllowed ? ['all its redemptions are used up'] : [];
}

/** A custom code with fewer characters can be guessed; Earshot's own codes have 27. */
const SHORTEST_CODE = 16;

function weakNotes({ spec: { code = '' } }: AccessGrant): readonly string[] {
  if (code === '' || code.length >= SHORTEST_CODE) return [];
  return [`its code has ${code.length} characters and can be guessed: use at least ${SHORTEST_CODE}, or remove spec.code`];
}

export function observeToken(token: AccessToken, view: View): AccessTokenStatus {
  const facts = view.trust.tokens.get(nameOf(token));
  // A redemption is final, whatever happened to the site.
  const redeemed = facts?.redeemed ?? token.status?.redeemed === true;
  const status = statusOf({ Redeemed: redeemed ? lost(token, view) : firstOf(configured(view), redeeming(facts)) }, view);
  return { ...status, redeemed };
}

/** Not ready if an earlier reconcile reported the redemption and the Link has been deleted since. */
function lost({ metadata: { name }, status }: AccessToken, { wording, resources }: View): Progress {
  if (wording === 'codes' || status?.redeemed !== true || resources.Link.some(({ spec }) => spec.tlsCredentials === name)) return done;
  return failed({
    code: 'token-used-up',
    message: 'Already redeemed for a deleted site, or its Link was deleted: ask for a new token, or delete this one',
  });
}

/** End of a message; false once the token is removed. */
export const REDEMPTION_IS_RETRIED = ' The redemption is retried.';

function redeeming(facts: TokenFacts | undefined): Progress {
  const { problem, retrying = 'never' } = facts ?? {};
  if (problem === undefined) return waiting('redeeming', 'it is being redeemed');
  if (retrying === 'never') return failed(problem);
  const message = `${problem.message}.${REDEMPTION_IS_RETRIED}`;
  return retrying === 'soon' ? waiting(problem.code, message) : failed({ ...problem, message });
}

export function observeCertificate(certificate: Certificate, view: View): CertificateStatus {
  const facts = view.trust.certificates.get(nameOf(certificate));
  const { conditions, ...words } = statusOf({ Issued: firstOf(configured(view), processed(facts)) }, view);
  return {
    ...words,
    conditions: conditions.filter(({ type }) => type === 'Ready'),
    ...(facts?.expires === undefined ? {} : { expiration: timeText(facts.expires) }),
  };
}

function processed(facts: { readonly problem?: Problem } | undefined): Progress {
  if (facts === undefined) return waiting('processing', 'it is being processed');
  return facts.problem === undefined ? done : failed(facts.problem);
}
