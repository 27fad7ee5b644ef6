import { flag, integer, listOf, object, optional, text } from '../schema.ts';
import { endpoints, routingKeys, settings, statusWith, tlsCredentials } from './parts.ts';

const role = object('One port for links.', {
  name: text('`inter-router`: links from sites. `edge`: links from edge sites.', { minLength: 1 }),
  port: optional(
    integer('int32', 'The port to listen on. Default: 55671, for `edge` 45671. 0: any free one; on Kubernetes the default.', {
      minimum: 0,
      maximum: 65_535,
    }),
  ),
});

export const accessType = optional(
  text(
    'How others reach it on Kubernetes: `local` (inside the cluster only), `loadbalancer`, `nodeport`, `route`, `ingress`, ' +
      '`ingress-nginx`, `contour-http-proxy`, `gateway` or `listenerclass:NAME`. The controller may enable only some. Empty, or ' +
      '`default`: the default of the platform.',
  ),
);

export const routerAccessSpec = object('Ports that accept links from other sites.', {
  roles: listOf(role, 'Ports and their roles.', { maxItems: 16 }),
  tlsCredentials: tlsCredentials('that the router presents. Its `ca.crt` must have signed the certificates of other sites.'),
  generateTlsCredentials: optional(
    flag('Whether the system creates and renews the TLS bundle. Without a cluster it always does, unless you provide one.', {
      default: false,
    }),
  ),
  issuer: optional(
    text("The certificate authority for that. Default: the site's `defaultIssuer`. Without a cluster it is created if it does not exist."),
  ),
  accessType,
  bindHost: optional(text('The address of this machine to listen on. Default: all. Only without a cluster.', { maxLength: 253 })),
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
  '`Configured`: the router listens. `Resolved`: its addresses for other sites are known. `Ready`: both.',
  { endpoints },
);
