import { flag, integer, listOf, object, optional, text } from '../schema.ts';
import { endpoints, routingKeys, settings, statusWith, tlsCredentials } from './parts.ts';

const role = object('One port for links.', {
  name: text('`inter-router`: links from sites. `edge`: links from edge sites.', { minLength: 1 }),
  port: optional(
    integer('int32', 'The port to listen on. Left out: 55671, for `edge` 45671. 0: any free one; on Kubernetes as left out.', {
      minimum: 0,
      maximum: 65_535,
    }),
  ),
});

export const accessType = optional(
  text(
    'How others reach it on Kubernetes: `local` (inside the cluster only), `loadbalancer`, `nodeport`, `route`, `ingress`, ' +
      '`ingress-nginx`, `contour-http-proxy`, `gateway` or `listenerclass:NAME`. The controller may have only some enabled. Left out, or ' +
      '`default`: the default of the platform.',
  ),
);

export const routerAccessSpec = object('Where links from other sites are accepted.', {
  roles: listOf(role, 'The ports, and what they are for.', { maxItems: 16 }),
  tlsCredentials: tlsCredentials('that the router shows, and whose `ca.crt` the certificates of other sites must come from.'),
  generateTlsCredentials: optional(
    flag('Whether the system creates and renews the TLS bundle. Without a cluster it always does, unless you give one.', {
      default: false,
    }),
  ),
  issuer: optional(
    text("The certificate authority for that. Left out: the site's `defaultIssuer`. Without a cluster it is created if it does not exist."),
  ),
  accessType,
  bindHost: optional(text('The address of this machine to listen on. Left out: all. Only without a cluster.', { maxLength: 253 })),
  subjectAlternativeNames: optional(
    listOf(
      text('A host name or an address.', { minLength: 1, maxLength: 253 }),
      'Further names by which other sites reach this one. They go into the certificate and into links.',
      { maxItems: 256 },
    ),
  ),
  routingKeys,
  settings,
});

export const routerAccessStatus = statusWith(
  '`Configured`: the router listens. `Resolved`: it is known where other sites can reach it. `Ready`: both.',
  { endpoints },
);
