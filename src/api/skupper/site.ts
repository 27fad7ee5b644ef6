import { flag, integer, listOf, mapOf, object, optional, text } from '../schema.ts';
import { endpoints, REFUSED, statusWith } from './parts.ts';

export const siteSpec = object('A site of the network.', {
  linkAccess: optional(
    text(
      'Whether and how other sites can link to this one. `none` or empty: not at all. `default`: the default of the platform. ' +
        '`route`, `loadbalancer`, `nodeport`: by an object of that type on Kubernetes. `listenerclass:NAME`: by a Listener of that ' +
        'ListenerClass. Without a cluster every word but `none` opens the ports of this machine.',
    ),
  ),
  ha: optional(flag('Whether the site runs two routers, so that one may fail.', { default: false })),
  edge: optional(
    flag('Whether the site is an edge site: it links to others, no site links to it, and it carries nothing between others.', {
      default: false,
    }),
  ),
  defaultIssuer: optional(
    text(
      'The certificate authority that signs for this site unless another is named. On Kubernetes a Secret; without a cluster ' +
        'a directory below `input/issuers/`. Default: a new one.',
    ),
  ),
  networkId: optional(text(`The id of the network that the site is part of. ${REFUSED}`)),
  serviceAccount: optional(text("The ServiceAccount of the router's pods. Only on Kubernetes. Default: a new one.")),
  settings: optional(
    mapOf(
      text('The value of the setting.'),
      'Further settings by name. `link-suspect-after`, such as `2s`: silence of the other end after which ' +
        'new connections avoid a link. `link-dead-after`, such as `30s`: silence after which the link is given up. `routers`: ' +
        'number of routers on a machine, or `auto`, the default, by its cores. `networks`: container networks in which the ' +
        'site has a router, separated by commas, on machines with Podman or Docker. `observe`: sites whose consoles ' +
        'may read the figures of the routers. `site`, the default: this site. `network`: all sites. `none`: no site.',
    ),
  ),
});

const linkRecord = object('One link of the site.', {
  name: optional(text('The name of the Link, for links that this site opens; otherwise the name of the site at the other end.')),
  remoteSiteId: optional(text('The id of the site at the other end.')),
  remoteSiteName: optional(text('The name of the site at the other end.')),
  operational: optional(flag('Whether traffic can pass.')),
});

const incomingLink = object('One link that another site opened to this one.', {
  siteId: optional(text('The id of the other site.')),
  siteName: optional(text('The name of the other site.')),
  address: optional(text('Source address and port.')),
  cost: optional(integer('int32', 'Cost of the path over it, as the other site sets it.')),
  operational: optional(flag('Whether traffic can pass.')),
  since: optional(text('Time of the last change of `operational`.')),
  message: optional(text('Reason of its end, while it is not operational.')),
});

const serviceRecord = object('One routing key at the site.', {
  routingKey: optional(text('The routing key.')),
  connectors: optional(listOf(text('A connector.'), 'The connectors of the key at that site.')),
  listeners: optional(listOf(text('A listener.'), 'The listeners of the key at that site.')),
});

const siteRecord = object('One site of the network.', {
  id: optional(text('The id of the site.')),
  name: optional(text('The name of the site.')),
  namespace: optional(text('The namespace of the site.')),
  platform: optional(text('Platform of the site: `kubernetes`, `linux`, `podman` or `docker`.')),
  version: optional(text("The version of the site's router.")),
  links: optional(listOf(linkRecord, 'The links that the site opens.')),
  services: optional(listOf(serviceRecord, 'Routing keys for which the site has connectors or listeners.')),
});

export const siteStatus = statusWith(
  '`Configured`: the router has the configuration. `Running`: a router runs. `Resolved`: the addresses are known at which other sites can link ' +
    'to this one. `Ready`: all of these.',
  {
    endpoints,
    sitesInNetwork: optional(integer('int32', 'Number of reachable sites, this one included.')),
    network: optional(listOf(siteRecord, 'Reachable sites, as seen from this one.')),
    incomingLinks: optional(
      listOf(incomingLink, 'Links that other sites opened to this one, and the last one of each site that no longer has any.'),
    ),
    defaultIssuer: optional(text('The certificate authority in use.')),
    controller: optional(
      object('Controller that manages this site.', {
        name: optional(text('The name of the program.')),
        namespace: optional(text('The namespace in which it runs.')),
        version: optional(text('Its version.')),
      }),
    ),
  },
);
