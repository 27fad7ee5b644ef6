import { CONTROLLERS_SECRETS, LOCAL_SERVER, SITE_KEY, SITE_SERVER } from '../api/skupper/cluster-names.ts';
import { isResourceName } from '../text/names.ts';
import type { SiteResources } from './resources.ts';

/** `settings` of a Link: the Secret with the proxy through which it is opened. */
export const PROXY = 'proxy-configuration';

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
    ...Link.map(({ spec }) => (spec.settings != null && Object.hasOwn(spec.settings, PROXY) ? spec.settings[PROXY] : undefined)),
    ...attached,
  ];
  const usable = named.filter((name) => name !== undefined && isResourceName(name) && !CONTROLLERS_SECRETS.has(name));
  return new Set([SITE_KEY, SITE_SERVER, LOCAL_SERVER, ...usable.filter((name) => name !== undefined)].sort());
}
