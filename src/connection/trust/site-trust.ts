import { noTrust, type TrustFacts } from '../../site/observe/trust-facts.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import type { NamespaceView } from '../namespace-view.ts';

export interface TrustStep {
  readonly facts: TrustFacts;
  readonly problems: readonly ResourceProblem[];
}

/** Keys, authorities and certificates of one site, and what others are let in by: kept in step with its resources. */
export class SiteTrust implements AsyncDisposable {
  step(_view: NamespaceView, _signal: AbortSignal): Promise<TrustStep> {
    return Promise.resolve({ facts: noTrust, problems: [] });
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
