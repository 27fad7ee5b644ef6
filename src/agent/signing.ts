/** Who signs for a site, as its engine asks: one who does it here, or one who asks another process. */
import type { Site } from '../api/skupper/index.ts';
import type { LinkConfig, Revocations, Router, RouterHooks } from '../router/contract.ts';
import type { TrustInput, TrustOutcome } from './trust.ts';
import type { Identity } from './ports.ts';

export interface SiteSigning {
  revocations(): Promise<Revocations>;
  /** What the site's own authority is verified by, PEM; undefined where there is none. */
  siteAuthority(site: Site, leads: boolean): Promise<string | undefined>;
  /** For the leader alone, and only while there is a site. */
  step(input: TrustInput, identity: Identity): Promise<TrustOutcome>;
  /** What depends on the router's state: links for others, renewals. */
  follow(router: Router, links: readonly LinkConfig[]): Promise<void>;
  /** For another site, over its link. Also where another router looks after the site: a link stays with the router that it came to. */
  renew(site: Site, ...asked: Parameters<NonNullable<RouterHooks['renew']>>): ReturnType<NonNullable<RouterHooks['renew']>>;
  /** Nothing of what it began goes on. It can begin anew. */
  end(): Promise<void>;
}
