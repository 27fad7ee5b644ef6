import type { Revocations } from '../../identity/issued.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { problemOf } from '../../errors/problem.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { noTrust, type TrustFacts } from '../../site/observe/trust-facts.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { keyOf } from '../../site/resources.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Clock } from '../../trust/contract.ts';
import { TrustError } from '../../trust/errors.ts';
import { revocationsOf } from '../../trust/revocation.ts';
import type { SiteCaches } from '../caches.ts';
import type { GrantDesk } from '../tokens/grant-desk.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import { SecretLedger } from './secret-ledger.ts';
import { siteIdentity } from './site-key.ts';
import { SiteSecrets } from './site-secrets.ts';

export interface SiteTrustOptions {
  readonly namespace: string;
  readonly client: KubeClient;
  readonly caches: SiteCaches;
  readonly log: Logger;
  readonly desk: GrantDesk;
  /** Asks for a pass over a namespace. */
  readonly wake: (namespace: string) => void;
  readonly clock?: Clock;
}

export interface TrustStep {
  readonly facts: TrustFacts;
  readonly problems: readonly ResourceProblem[];
  /** Undefined while that cannot be read: what routers were told before stands. */
  readonly revoked: Revocations | undefined;
  /** Milliseconds after which something is due. */
  readonly again?: number;
  /** Something failed that may not fail the next time. */
  readonly failed?: unknown;
}

/** Keys, authorities and certificates of one site, and what others are let in by: kept in step with its resources. */
export class SiteTrust implements AsyncDisposable {
  readonly #options: SiteTrustOptions;

  constructor(options: SiteTrustOptions) {
    this.#options = options;
  }

  async step(view: NamespaceView, signal: AbortSignal): Promise<TrustStep> {
    const { site } = view;
    if (site === undefined) return { facts: noTrust, problems: [], revoked: undefined };
    const { namespace, client, caches, clock = Date.now } = this.#options;
    const secrets = new SiteSecrets({ namespace, client, caches, site: ownerOf(site), signal });
    const ledger = new SecretLedger(secrets, { clock });
    try {
      await siteIdentity(secrets);
      return { facts: noTrust, problems: [], revoked: revocationsOf(await ledger.revoked()) };
    } catch (error) {
      signal.throwIfAborted();
      const problem: ResourceProblem = { resource: keyOf(site), severity: 'error', ...problemOf(error) };
      return { facts: noTrust, problems: [problem], revoked: undefined, ...(isForPeople(error) ? {} : { failed: error }) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Trying again changes nothing until somebody has changed something, which is told. */
const isForPeople = (error: unknown): boolean =>
  error instanceof TrustError || (error instanceof EarshotError && error.code === 'site-key');
