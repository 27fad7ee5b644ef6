import { integer, listOf, mapOf, object, optional, text } from '../schema.ts';
import { endpoint, routingKeys, statusWith, tlsCredentials } from './parts.ts';

/** Maximum cost of a link. Beyond it a path could not be distinguished from an unreachable one. */
export const MAXIMUM_COST = 65_535;

export function cost(description: string) {
  return integer('int32', `${description} 0 counts as 1.`, { default: 1, minimum: 0, maximum: MAXIMUM_COST });
}

export const linkSpec = object('A link to another site.', {
  endpoints: listOf(
    endpoint,
    'Endpoints at which the other site accepts links. Those named `inter-router` are tried in order until one is reachable; an edge ' +
      'site uses those named `edge`.',
    { maxItems: 64 },
  ),
  tlsCredentials: optional(tlsCredentials('by which the two sites authenticate each other. It must contain all three parts.')),
  cost: optional(cost('Cost of the path over this link. Connections take the path with the least cost.')),
  routingKeys,
  settings: optional(
    mapOf(
      text('The value of the setting.'),
      'Further settings by name. `proxy-configuration`: the name of a Secret of type `kubernetes.io/basic-auth` with `host` and `port` of an HTTP proxy for the ' +
        'endpoints. `username` and `password` are needed if the proxy requires them.',
    ),
  ),
});

export const linkStatus = statusWith('`Configured`: the router has the link. `Operational`: the other site is connected. `Ready`: both.', {
  remoteSiteId: optional(text('The id of the site at the other end.')),
  remoteSiteName: optional(text('The name of the site at the other end.')),
  endpoints: optional(
    listOf(
      endpoint,
      'Endpoints that the other site announces. When the link is opened again, these come before the rest of `spec.endpoints`.',
    ),
  ),
});
