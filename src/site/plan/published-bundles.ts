/** TLS bundles of a site that local programs and scripts use (pure). */
import type { Site } from '../../api/skupper/index.ts';
import { isResourceName } from '../../text/names.ts';
import { nameOf, type SiteResources } from '../resources.ts';
import { listAccesses } from './access.ts';
import { staticLinkBundle } from './certificates.ts';

/** Names of the bundles. The keys of authorities and of the site's own links are for the site alone. */
export function publishedBundles(resources: SiteResources, site: Site): ReadonlySet<string> {
  const { Listener, MultiKeyListener, Connector, Certificate, Link } = resources;
  const named = [
    ...listAccesses(resources, site).accesses.flatMap((access) => [access.bundle, staticLinkBundle(access)]),
    ...[...Listener, ...MultiKeyListener, ...Connector].flatMap(({ spec }) => spec.tlsCredentials ?? []),
    ...Certificate.filter(({ spec }) => spec.signing !== true).map(nameOf),
  ];
  const ofLinks = new Set(Link.flatMap(({ spec }) => spec.tlsCredentials ?? []));
  return new Set(named.filter((name) => isResourceName(name) && !ofLinks.has(name)));
}
