/** The anchor of a site in a cluster. It is in the ConfigMap of the routers, apart from the Secrets that it vouches for. */
import { ROUTER, ROUTER_DATA } from '../../api/skupper/cluster-names.ts';
import { isOfAnotherSite } from '../../api/skupper/other-site.ts';
import type { ConfigMap } from '../../kube/objects.ts';
import { noAnchor, parseAnchor, type Anchor } from '../../trust/anchor.ts';

/** For messages. */
export const ANCHOR_LOCATION = `the ConfigMap ${ROUTER}`;

const read = new WeakMap<ConfigMap, Anchor>();

/** @param site UID of the Site; the anchor of a former Site does not count */
export function anchorIn(configMap: ConfigMap | undefined, site: string | undefined): Anchor {
  if (configMap === undefined || isOfAnotherSite(configMap, site)) return noAnchor;
  return read.getOrInsertComputed(configMap, () => parseAnchor(configMap.data?.[ROUTER_DATA.anchor]));
}
