import type { Endpoint, IncomingLink, SiteRecord } from '../../api/skupper/index.ts';
import type { ResourceKey } from '../resources.ts';
import type { Progress } from './message-format.ts';

/** What is known of a site's routers by an observer that runs none of them. */
export interface RouterFacts {
  readonly running: Progress;
  /** Where each RouterAccess can be reached, of which the group says at which router, and each SecuredAccess. */
  readonly endpoints: ReadonlyMap<ResourceKey, readonly Endpoint[]>;
  readonly network: readonly SiteRecord[];
  readonly incomingLinks: readonly IncomingLink[];
  /** How many sites there are, also where `network` has not all of them. */
  readonly sitesInNetwork: number;
}
