/** What Services of listeners are called, and their ports. */
import { createHash } from 'node:crypto';
import { ROUTER, ROUTER_LOCAL, SECOND_ROUTER } from '../../api/skupper/cluster-names.ts';
import { isLabel } from '../../text/names.ts';
import { nameOf, type ResourceKey, type SiteResources } from '../resources.ts';

/** Before the name of a MultiKeyListener, so that its port is told from that of a Listener of its name. */
const MULTI_KEY = 'multiaddress-';
const HASH_LENGTH = 8;
const MOST_READABLE = 63 - HASH_LENGTH - 1;

/**
 * The name of the listener where that can be a port's, which is a label of DNS. Another one gets what is legal of it, and a hash that tells it
 * from those that look the same then.
 */
export function portNameOf(listener: ResourceKey): string {
  const [kind = '', name = ''] = listener.split('/');
  const wanted = kind === 'MultiKeyListener' ? `${MULTI_KEY}${name}` : name;
  const isAnothers = kind === 'Listener' && name.startsWith(MULTI_KEY);
  if (isLabel(wanted) && !isAnothers) return wanted;
  const hash = createHash('sha256').update(listener).digest('hex').slice(0, HASH_LENGTH);
  return `${wanted.replaceAll('.', '-').slice(0, MOST_READABLE)}-${hash}`;
}

/** Which Services are the router's own, whether they are there yet or not. */
export interface RouterServices {
  readonly always: ReadonlySet<string>;
  /** What lets other sites in. A listener whose Service was there before keeps it. */
  readonly ofAccess: ReadonlySet<string>;
}

export function routerServices({ RouterAccess, SecuredAccess }: Pick<SiteResources, 'RouterAccess' | 'SecuredAccess'>): RouterServices {
  return {
    always: new Set([ROUTER, SECOND_ROUTER, ROUTER_LOCAL]),
    ofAccess: new Set([...RouterAccess.flatMap((access) => [nameOf(access), `${nameOf(access)}-2`]), ...SecuredAccess.map(nameOf)]),
  };
}
