/** Names of the Services of listeners, and of their ports. */
import { createHash } from 'node:crypto';
import { ROUTER, ROUTER_LOCAL, SECOND_ROUTER } from '../../api/skupper/cluster-names.ts';
import { isLabel } from '../../text/names.ts';
import { nameOf, type ResourceKey, type SiteResources } from '../resources.ts';

/** Prefix of the port name of a MultiKeyListener, which distinguishes it from a Listener of the same name. */
const MULTI_KEY = 'multiaddress-';
const HASH_LENGTH = 8;
const MOST_READABLE = 63 - HASH_LENGTH - 1;

/**
 * The listener's name if it can be a port name, that is, a DNS label. Otherwise its valid part with a hash, which distinguishes names with
 * the same valid part.
 */
export function portNameOf(listener: ResourceKey): string {
  const [kind = '', name = ''] = listener.split('/');
  const desired = kind === 'MultiKeyListener' ? `${MULTI_KEY}${name}` : name;
  const isAnothers = kind === 'Listener' && name.startsWith(MULTI_KEY);
  if (isLabel(desired) && !isAnothers) return desired;
  const hash = createHash('sha256').update(listener).digest('hex').slice(0, HASH_LENGTH);
  return `${desired.replaceAll('.', '-').slice(0, MOST_READABLE)}-${hash}`;
}

/** Services of the router itself, whether they exist yet or not. */
export interface RouterServices {
  readonly always: ReadonlySet<string>;
  /** Services that let other sites in. A listener whose Service existed before keeps it. */
  readonly ofAccess: ReadonlySet<string>;
}

export function routerServices({ RouterAccess, SecuredAccess }: Pick<SiteResources, 'RouterAccess' | 'SecuredAccess'>): RouterServices {
  return {
    always: new Set([ROUTER, SECOND_ROUTER, ROUTER_LOCAL]),
    ofAccess: new Set([...RouterAccess.flatMap((access) => [nameOf(access), `${nameOf(access)}-2`]), ...SecuredAccess.map(nameOf)]),
  };
}
