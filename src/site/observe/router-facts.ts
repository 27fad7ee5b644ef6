import type { Endpoint, IncomingLink, SiteRecord } from '../../api/skupper/index.ts';
import type { ResourceKey } from '../resources.ts';
import type { Progress } from './message-format.ts';

/** Facts about a site's routers for an observer that runs none of them. */
export interface RouterFacts {
  readonly running: Progress;
  /** Endpoints of each SecuredAccess and RouterAccess; the group of the latter names the router. */
  readonly endpoints: ReadonlyMap<ResourceKey, readonly Endpoint[]>;
  readonly network: readonly SiteRecord[];
  readonly incomingLinks: readonly IncomingLink[];
  /** Number of sites, including those that `network` omits. */
  readonly sitesInNetwork: number;
}
