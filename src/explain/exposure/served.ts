import type { ClaimFacts } from './exposure-facts.ts';
import { valueIn } from './steps.ts';

/** Whether the controller has served the claim: it is bound. */
export function isCurrentlyServed({ claim }: ClaimFacts): boolean {
  return valueIn(claim)?.status?.phase === 'Bound';
}
