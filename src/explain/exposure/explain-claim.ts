/** Explains a PersistentVolumeClaim for a listener volume (pure). */
import { explainChain } from '../chain.ts';
import type { Explanation } from '../step.ts';
import { claimChecks } from './claim-checks.ts';
import type { ClaimFacts } from './exposure-facts.ts';
import { isCurrentlyServed } from './served.ts';
import { Steps } from './steps.ts';

export function explainClaim(facts: ClaimFacts): Explanation {
  const object = `PersistentVolumeClaim/${facts.name}`;
  const controller = new Steps(object).controller(facts, isCurrentlyServed(facts));
  return explainChain(object, [controller, ...claimChecks(facts)], new Date(facts.now));
}
