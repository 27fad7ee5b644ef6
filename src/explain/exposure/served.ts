import type { ClaimFacts } from './exposure-facts.ts';
import { valueOf } from '../connection/site-facts.ts';

/** Whether the controller has served the claim: it is bound. */
export function isCurrentlyServed({ claim }: ClaimFacts): boolean {
  return valueOf(claim)?.status?.phase === 'Bound';
}
