import type { Link } from '../../api/skupper/index.ts';
import type { AccessConfig, LinkConfig, LinkEndpoint, ProxyConfig } from '../../router/contract.ts';
import { findBundle, secretAwaited, type FoundBundle } from '../find-bundle.ts';
import type { Material } from '../material.ts';
import { errorIn, hasErrors, warningIn, type Planned, type ResourceProblem } from '../problem.ts';
import { keyOf, nameOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { SETTING, settingOf } from '../settings.ts';
import { isTokenLink } from '../token-link.ts';
import { isGiven, notAHost, parsePort } from './fields.ts';
import { narrowingProblems } from './narrowing.ts';
import { withoutOwn } from './own-endpoints.ts';
import { quoted } from '../../text/printable.ts';
import { isHost } from '../../text/names.ts';

/** Same as in the schema of the resource (`MAXIMUM_COST`). */
const HIGHEST_COST = 65_535;

export interface LinkingSite {
  /** An edge site uses the endpoints named `edge`; other sites use those named `inter-router`. */
  readonly edge: boolean;
  readonly accesses: readonly AccessConfig[];
  readonly priorRevisions?: number | undefined;
}

export function planLinks(
  resources: SiteResources,
  { edge, accesses, priorRevisions: ofSite }: LinkingSite,
  material: Material,
): Planned<LinkConfig> {
  const configs: LinkConfig[] = [];
  const problems: ResourceProblem[] = [];
  for (const link of resources.Link) {
    const name = keyOf(link);
    const { endpoints: usable, problems: ofEndpoints } = linkEndpoints(link, edge);
    const endpoints = withoutOwn(usable, material.ownHosts, accesses);
    const { bundle, problems: ofTls } = tlsOf(link, material);
    // A cost of 0 counts as 1, as in Skupper's manifests.
    const cost = link.spec.cost === 0 ? 1 : (link.spec.cost ?? 1);
    const { proxy, problems: ofProxy } = proxyOf(link, material);
    const found = [...narrowingProblems(link), ...ofEndpoints, ...badCost(name, cost), ...ofTls, ...ofProxy];
    problems.push(...found);
    if (bundle !== undefined && !hasErrors(found)) {
      const { priorRevisions = ofSite } = bundle;
      const remembered = material.remembered?.get(nameOf(link));
      configs.push({
        name,
        endpoints,
        ...groupOf(link),
        ...(remembered === undefined ? {} : { remembered }),
        cost,
        tls: bundle,
        ...(priorRevisions === undefined ? {} : { priorRevisions }),
        ...(proxy === undefined ? {} : { proxy }),
      });
    }
  }
  return { configs, problems };
}

/** Group of the endpoints, if all have the same one. */
function groupOf({ spec: { endpoints } }: Link): Pick<LinkConfig, 'group'> {
  const [group, ...others] = new Set(endpoints.map((endpoint) => endpoint.group ?? ''));
  return !isGiven(group) || others.length > 0 ? {} : { group };
}

function badCost(resource: ResourceKey, cost: number): readonly ResourceProblem[] {
  if (Number.isInteger(cost) && cost >= 1 && cost <= HIGHEST_COST) return [];
  return [errorIn(resource, 'spec.cost', 'cost', `${cost} is not a valid cost; use a whole number from 1 to ${HIGHEST_COST}.`)];
}

/** The private key was created for the token, so no file of a user can replace the bundle. */
const NEW_TOKEN = 'a token created it: delete this Link and redeem a new token';

function tlsOf(link: Link, material: Material): FoundBundle {
  const { tlsCredentials } = link.spec;
  if (isGiven(tlsCredentials))
    return findBundle(material, tlsCredentials, 'client', keyOf(link), isTokenLink(link) ? NEW_TOKEN : undefined);
  const message = 'it is missing; a link needs a client certificate. Name a bundle, or redeem a token instead.';
  return { problems: [errorIn(keyOf(link), 'spec.tlsCredentials', 'tls-missing', message)] };
}

function proxyOf(
  link: Link,
  { proxies, awaitedSecrets }: Material,
): { readonly proxy?: ProxyConfig; readonly problems: readonly ResourceProblem[] } {
  const name = settingOf(link, SETTING.proxy);
  if (!isGiven(name)) return { problems: [] };
  const proxy = proxies?.get(name);
  if (proxy !== undefined) return { proxy, problems: [] };
  if (awaitedSecrets?.has(name) === true) return { problems: [secretAwaited(keyOf(link), `spec.settings.${SETTING.proxy}`, name)] };
  const message = `the Secret ${quoted(name)} with host and port of a proxy, of type kubernetes.io/basic-auth, does not exist; create it, or remove the setting.`;
  return { problems: [errorIn(keyOf(link), `spec.settings.${SETTING.proxy}`, 'proxy-missing', message)] };
}

function linkEndpoints(
  link: Link,
  edge: boolean,
): { readonly endpoints: readonly LinkEndpoint[]; readonly problems: readonly ResourceProblem[] } {
  const resource = keyOf(link);
  const role = edge ? 'edge' : 'inter-router';
  const problems: ResourceProblem[] = [];
  const endpoints: LinkEndpoint[] = [];
  for (const [index, { name, host, port = '' }] of link.spec.endpoints.entries()) {
    // Skupper's own links always have a name. An endpoint without one serves either role.
    if (isGiven(name) && name !== role) continue;
    const field = `spec.endpoints[${index}]`;
    const number = parsePort(port);
    if (number === undefined) {
      const message = `${quoted(port)} is not a port, so this endpoint is ignored; use 1 to 65535.`;
      problems.push(warningIn(resource, `${field}.port`, 'port', message));
    } else if (!isHost(host)) {
      const message = `${notAHost(host ?? '')}. This endpoint is ignored.`;
      problems.push(warningIn(resource, `${field}.host`, 'host', message));
    } else {
      endpoints.push({ host, port: number });
    }
  }
  if (endpoints.length === 0) {
    const message = `its endpoints cannot be used: ${edge ? 'an edge site needs one named edge' : 'this site needs one named inter-router'}, with host and port.`;
    problems.push(errorIn(resource, 'spec.endpoints', 'no-endpoint', message));
  }
  return { endpoints, problems };
}
