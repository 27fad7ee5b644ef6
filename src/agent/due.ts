import { renewalPlan } from '../trust/renewal.ts';
import type { CertificateFacts } from '../x509/facts.ts';

/** Certificates begin so long before they are issued, for clocks that are behind. */
const backdated = 300_000;

/** Late in its life, and never in the first half of the time that it was issued for: a short-lived one would otherwise be due at once. */
export function isRenewalDue(facts: Pick<CertificateFacts, 'notBefore' | 'notAfter' | 'serial'>, now: number): boolean {
  const issuedFor = facts.notAfter - facts.notBefore - backdated;
  return renewalPlan(facts, now).due && facts.notAfter - now <= Math.max(issuedFor, 0) / 2;
}
