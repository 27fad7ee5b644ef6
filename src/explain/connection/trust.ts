import type { AccessGrant, AccessToken, Certificate } from '../../api/skupper/index.ts';
import { isPast } from '../../site/overview.ts';
import { shownValue } from '../../text/printable.ts';
import { bundleStep } from './bundle-steps.ts';
import { BUNDLE_CODES, TOKEN_CODES } from './code-groups.ts';
import { headRungs, type Subject } from './head.ts';
import { adviceOn } from './object-problem.ts';
import type { Rung } from './rungs.ts';
import type { SiteFacts } from './site-facts.ts';
import { modules } from '../../errors/catalogue.ts';
import { isConditionCode } from '../../errors/problem.ts';

/** Steps of an AccessGrant: sites can link here, its server is open, and tokens are left. */
export function grantRungs(facts: SiteFacts, subject: Subject, grant: AccessGrant): readonly Rung[] {
  const { redemptions = 0, expirationTime, url } = grant.status ?? {};
  const allowed = Math.max(1, grant.spec.redemptionsAllowed ?? 1);
  const used = `${redemptions} of ${allowed} redemptions used`;
  return [
    ...headRungs(facts, subject),
    { id: 'access-grant.access', codes: ['no-access'], passes: 'other sites can link here' },
    {
      id: 'access-grant.port',
      codes: ['no-address', 'opening', 'port-in-use'],
      condition: 'Resolved',
      passes: url === undefined ? 'closed: no grant of the site can be redeemed' : shownValue(url),
    },
    {
      id: 'access-grant.left',
      codes: ['token-used-up', 'token-expired'],
      condition: 'Processed',
      passes: used,
      refine: (step) => {
        if (step.state !== 'pass') return step;
        if (redemptions >= allowed) return { ...step, ...adviceOn('token-used-up'), state: 'warn', says: used };
        if (isPast(grant, facts.now))
          return { ...step, ...adviceOn('token-expired'), state: 'warn', says: `expired at ${expirationTime ?? ''}` };
        return step;
      },
    },
  ];
}

/** Steps of an AccessToken, in the order of its redemption. */
export function tokenRungs(facts: SiteFacts, subject: Subject, token: AccessToken): readonly Rung[] {
  return [
    ...headRungs(facts, subject),
    { id: 'access-token.content', codes: ['token-mangled'], passes: 'complete' },
    { id: 'access-token.name', codes: ['name-unknown'], passes: shownValue(token.spec.url) },
    {
      id: 'access-token.tcp',
      codes: ['redeeming', 'refused', 'unreachable', 'timeout', 'lost'],
      condition: 'Redeemed',
      passes: 'connected',
    },
    {
      id: 'access-token.tls',
      codes: ['token-wrong-ca', 'token-wrong-host', 'clock-wrong', ...BUNDLE_CODES],
      passes: 'the site that issued it',
    },
    { id: 'access-token.answer', codes: [...TOKEN_CODES, 'revoked', 'self', 'busy'], passes: 'redeemed' },
  ];
}

/** Steps of a Certificate: its issuer and its dates. */
export function certificateRungs(facts: SiteFacts, subject: Subject, certificate: Certificate): readonly Rung[] {
  const { name } = subject;
  return [
    ...headRungs(facts, subject),
    {
      id: 'certificate.issuer',
      codes: Object.keys(modules.trust).filter(isConditionCode),
      condition: 'Issued',
      passes: certificate.spec.ca === '' ? 'signs itself' : shownValue(certificate.spec.ca),
    },
    { id: 'certificate.dates', codes: BUNDLE_CODES, condition: 'Ready', passes: 'valid', refine: (step) => bundleStep(step, facts, name) },
  ];
}
