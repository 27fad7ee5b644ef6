/** Signing for a site, as its engine needs it. One implementation signs in this process, the other asks another process. */
import type { Site } from '../api/skupper/index.ts';
import type { LinkConfig, Revocations, Router, RouterHooks } from '../router/contract.ts';
import type { TrustInput, TrustOutcome } from './trust.ts';
import type { Identity, Snapshot } from './ports.ts';

export interface SiteSigning {
  revocations(): Promise<Revocations>;
  /** PEM certificate that verifies the site's own CA; undefined if it does not exist. */
  siteAuthority(site: Site, leads: boolean, snapshot: Pick<Snapshot, 'attached' | 'resources'>): Promise<string | undefined>;
  /** For the leader only, while there is a Site. */
  step(input: TrustInput, identity: Identity): Promise<TrustOutcome>;
  /** Does work that depends on the router's state: links for other sites, and renewals. */
  follow(router: Router, links: readonly LinkConfig[]): Promise<void>;
  /**
   * Renews the certificate of another site that asks over its link. Also runs on routers that do not lead, since a link stays with its
   * router.
   */
  renew(site: Site, ...asked: Parameters<NonNullable<RouterHooks['renew']>>): ReturnType<NonNullable<RouterHooks['renew']>>;
  /** Ends everything that was started. Another `step` starts it again. */
  end(): Promise<void>;
}
