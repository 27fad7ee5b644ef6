import { CONTROLLERS_SECRETS, LOCAL_SERVER, SITE_KEY, SITE_SERVER } from '../api/skupper/cluster-names.ts';
import { GROUP } from '../api/skupper/names.ts';
import { isResourceName } from '../text/names.ts';
import type { SiteResources } from './resources.ts';
import { SETTING, settingOf } from './settings.ts';

type Naming = Pick<SiteResources, 'Listener' | 'MultiKeyListener' | 'Connector' | 'Link' | 'RouterAccess'>;

/**
 * The Secrets that a site's routers read, by name: its own, and those that resources name. Whoever may write resources chooses these names,
 * so no authority's key is ever among them.
 * @param attached `tlsCredentials` of AttachedConnectors that the site takes in
 */
export function secretNames(resources: Naming, attached: readonly (string | undefined)[] = []): ReadonlySet<string> {
  const { Listener, MultiKeyListener, Connector, Link, RouterAccess } = resources;
  const named = [
    ...[...Listener, ...MultiKeyListener, ...Connector, ...Link, ...RouterAccess].map(({ spec }) => spec.tlsCredentials),
    ...Link.map((link) => settingOf(link, SETTING.proxy)),
    ...attached,
  ];
  const usable = named.filter((name) => name !== undefined && isResourceName(name) && !CONTROLLERS_SECRETS.has(name));
  return new Set([SITE_KEY, SITE_SERVER, LOCAL_SERVER, ...usable.filter((name) => name !== undefined)].sort());
}

/**
 * Whether a router may replace what is in a link's Secret: it came with a token or a link, or was made for one. What somebody else keeps
 * current (a Certificate of this namespace, another controller) is left to him.
 */
export function isForRenewal(metadata: OwnedMeta | undefined): boolean {
  const owners = metadata?.ownerReferences ?? [];
  return metadata !== undefined && owners.every(({ apiVersion, kind }) => apiVersion.startsWith(`${GROUP}/`) && kind !== 'Certificate');
}

interface OwnedMeta {
  readonly ownerReferences?: readonly { readonly apiVersion: string; readonly kind: string }[];
}
