import type { Link } from '../../api/skupper/index.ts';
import type { LinkConfig, LinkEndpoint } from '../../router/contract.ts';
import { quote, type BundleFinder } from '../bundle-finder.ts';
import { hasErrors, type ResourceProblem } from '../problem.ts';
import { keyOf, type SiteResources } from '../resources.ts';
import { isGiven, isHost, parsePort } from './fields.ts';

/** As the resource has it (`maximumCost` in its schema). */
const HIGHEST_COST = 65_535;

/** @param edge an edge site uses the endpoints named `edge`, any other those named `inter-router` */
export function planLinks(
  resources: SiteResources,
  edge: boolean,
  bundles: BundleFinder,
): { readonly configs: readonly LinkConfig[]; readonly problems: readonly ResourceProblem[] } {
  const configs: LinkConfig[] = [];
  const problems: ResourceProblem[] = [];
  for (const link of resources.Link) {
    const resource = keyOf(link);
    const { endpoints, problems: found } = linkEndpoints(link, edge);
    const cost = link.spec.cost ?? 1;
    if (!(Number.isInteger(cost) && cost >= 1 && cost <= HIGHEST_COST)) {
      found.push({
        resource,
        severity: 'error',
        code: 'cost',
        field: 'spec.cost',
        message: `${cost} is no cost; use a whole number from 1 to ${HIGHEST_COST}.`,
      });
    }
    const { tlsCredentials } = link.spec;
    if (!isGiven(tlsCredentials)) {
      const message = 'it is missing; a link needs a client certificate. Name a bundle, or redeem a token instead.';
      found.push({ resource, severity: 'error', code: 'tls-missing', field: 'spec.tlsCredentials', message });
    } else {
      const tls = bundles.find(tlsCredentials, 'client', resource);
      found.push(...tls.problems);
      if (tls.bundle !== undefined && !hasErrors(found)) {
        configs.push({ name: resource, endpoints, cost, tls: tls.bundle });
      }
    }
    problems.push(...found);
  }
  return { configs, problems };
}

function linkEndpoints(link: Link, edge: boolean): { readonly endpoints: readonly LinkEndpoint[]; readonly problems: ResourceProblem[] } {
  const resource = keyOf(link);
  const role = edge ? 'edge' : 'inter-router';
  const problems: ResourceProblem[] = [];
  const endpoints: LinkEndpoint[] = [];
  for (const [index, { name, host, port }] of link.spec.endpoints.entries()) {
    // Skupper's own links always have a name; one without serves either role.
    if (isGiven(name) && name !== role) continue;
    const field = `spec.endpoints[${index}]`;
    const number = parsePort(port ?? '');
    if (number === undefined) {
      problems.push({
        resource,
        severity: 'warning',
        code: 'port',
        field: `${field}.port`,
        message: `${quote(port ?? '')} is not a port, so this endpoint is left out; use 1 to 65535.`,
      });
    } else if (!isHost(host)) {
      problems.push({
        resource,
        severity: 'warning',
        code: 'host',
        field: `${field}.host`,
        message: `${quote(host ?? '')} is neither a host name nor an address, so this endpoint is left out.`,
      });
    } else {
      endpoints.push({ host, port: number });
    }
  }
  if (endpoints.length === 0) {
    const message = `none of its endpoints can be used: ${edge ? 'an edge site needs one named edge' : 'this site needs one named inter-router'}, with host and port.`;
    problems.push({ resource, severity: 'error', code: 'no-endpoint', field: 'spec.endpoints', message });
  }
  return { endpoints, problems };
}
