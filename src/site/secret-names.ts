import { CONTROLLERS_SECRETS, LOCAL_SERVER, SITE_KEY, SITE_SERVER } from '../api/skupper/cluster-names.ts';
import { GROUP } from '../api/skupper/names.ts';
import { isResourceName } from '../text/names.ts';
import type { SiteResources } from './resources.ts';
import { SETTING, settingOf } from './settings.ts';

type Naming = Pick<SiteResources, 'Listener' | 'MultiKeyListener' | 'Connector' | 'Link' | 'RouterAccess'>;

/**
 * Names of the Secrets that a site's routers read: its own, and those that resources name. Authors of resources choose these names, so the
 * keys of CAs are excluded.
 * @param attached `tlsCredentials` of AttachedConnectors that the site admits
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
 * Whether a router may replace the content of a link's Secret: it came with a token or a link, or was created for one. A Secret that others
 * keep current (a Certificate of this namespace, another controller) stays as it is.
 */
export function isForRenewal(metadata: OwnedMeta | undefined): boolean {
  const owners = metadata?.ownerReferences ?? [];
  return metadata !== undefined && owners.every(({ apiVersion, kind }) => apiVersion.startsWith(`${GROUP}/`) && kind !== 'Certificate');
}

interface OwnedMeta {
  readonly ownerReferences?: readonly { readonly apiVersion: string; readonly kind: string }[];
}
