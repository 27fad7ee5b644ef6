import { limitTable } from '../../limits/table.ts';
import { LOCAL_SERVER, ROUTER, SITE_KEY, SITE_SERVER } from '../../api/skupper/cluster-names.ts';
import type { Site } from '../../api/skupper/index.ts';
import { isApiPurpose } from '../../identity/certificate-purpose.ts';
import { roles, secrets } from '../../kube/resource.ts';
import { warningIn, type ResourceProblem } from '../../site/problem.ts';
import { keyOf, nameOf, type Kind } from '../../site/resources.ts';
import { PURPOSE } from '../../site/plan/certificates.ts';
import { isForRenewal, secretNames } from '../../site/secret-names.ts';
import { attachedCredentials, hasUnreadableAttached } from '../attached/bound.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { isBundleType } from './bundle-type.ts';
import { defaultIssuerOf } from './site-spec.ts';

export interface RouterSecrets {
  /** Secrets that routers may read, by name. */
  readonly read: readonly string[];
  /** Secrets of `read` that the router renews itself, over the link that uses them. */
  readonly renew: readonly string[];
  readonly problems: readonly ResourceProblem[];
}

/** A Role with this many names of maximum length is still small enough for the API server. */
const MOST = limitTable.namedSecrets.value;

/** Secrets that every router needs. */
const OWN: ReadonlySet<string> = new Set([SITE_KEY, LOCAL_SERVER, SITE_SERVER]);

/**
 * Secrets that a router may read: those that the site's resources name. Excluded, even if named, are Secrets that could sign for the site
 * or impersonate clients of the routers' API.
 */
export function routerSecrets(view: NamespaceView, site: Site): RouterSecrets {
  const { resources } = view;
  const forbidden = kept(view, site);
  const attached = attachedCredentials(view);
  const named = new Set([...secretNames(resources, attached), ...grantedBefore(view, 'get')]);
  const allowed = [...named].filter((name) => !forbidden.has(name) && isBundleType(view.find(secrets, name)?.type));
  const read = [...OWN, ...allowed.filter((name) => !OWN.has(name))].slice(0, MOST);
  const readable = new Set(read);
  const ofLinks = new Set([...resources.Link.flatMap(({ spec }) => spec.tlsCredentials ?? []), ...grantedBefore(view, 'patch')]);
  const others = secretNames({ ...resources, Link: [] }, attached);
  const renew = [...ofLinks].filter((name) => readable.has(name) && !others.has(name)).sort();
  return {
    read,
    renew: renew.filter((name) => isForRenewal(view.find(secrets, name)?.metadata)),
    problems: allowed.length <= MOST ? [] : [tooMany(site, allowed.length)],
  };
}

/** Kinds that name Secrets for routers. */
const NAMING: ReadonlySet<Kind> = new Set([
  'Listener',
  'MultiKeyListener',
  'Connector',
  'Link',
  'RouterAccess',
  'AttachedConnectorBinding',
]);

/** The Secrets that an unreadable resource names are unknown. So what the Role already grants stays granted. */
function grantedBefore({ unreadable, find, ...view }: NamespaceView, verb: 'get' | 'patch'): readonly string[] {
  const isUnknown = unreadable.some(({ kind }) => NAMING.has(kind)) || hasUnreadableAttached(view);
  if (!isUnknown) return [];
  const rules = find(roles, ROUTER)?.rules ?? [];
  const ofSecrets = rules.filter(({ resources, verbs }) => resources?.includes('secrets') === true && verbs.includes(verb));
  return ofSecrets.flatMap(({ resourceNames = [] }) => resourceNames);
}

/**
 * Secrets that routers must not read: those of all CAs in the namespace, and the key of the grant server. Certificates of clients of the
 * routers' API are excluded too: a router could impersonate such a client. `secretNames` already excludes the site's records.
 */
function kept({ resources, namespace, settings }: NamespaceView, site: Site): ReadonlySet<string> {
  const { Certificate, RouterAccess, SecuredAccess, AccessGrant } = resources;
  const authorities = Certificate.filter(({ spec }) => spec.signing === true).map(nameOf);
  const issuers = [...RouterAccess, ...SecuredAccess, ...AccessGrant].flatMap(({ spec }) => spec.issuer ?? []);
  const used = Certificate.map(({ spec }) => spec.ca);
  const ofController = namespace === settings.namespace ? [settings.grants.tlsCredentials] : [];
  const ofApi = Certificate.filter(({ spec }) => isApiPurpose(spec.settings?.[PURPOSE])).map(nameOf);
  return new Set([defaultIssuerOf(site), ...authorities, ...issuers, ...used, ...ofController, ...ofApi]);
}

function tooMany(site: Site, count: number): ResourceProblem {
  const message = `its resources name ${count} Secrets, and its routers can read ${MOST}; use one Secret for several resources.`;
  return warningIn(keyOf(site), 'spec', 'bad-argument', message);
}
