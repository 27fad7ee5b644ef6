import { flag, integer, listOf, mapOf, object, optional, text } from '../schema.ts';
import { endpoints, REFUSED, statusWith } from './parts.ts';

export const siteSpec = object('How the site takes part in the network.', {
  linkAccess: optional(
    text(
      'Whether and how other sites can link to this one. `none`, or left out: not at all. `default`: as is usual on the platform. ' +
        '`route`, `loadbalancer`, `nodeport`: by an object of that type on Kubernetes. `listenerclass:NAME`: by a Listener of that ' +
        'ListenerClass. Without a cluster every word but `none` opens the ports of this machine.',
    ),
  ),
  ha: optional(flag('Whether the site runs two routers, so that one can go away.', { default: false })),
  edge: optional(
    flag('Whether the site is an edge site: it links to others, none link to it, and it carries nothing between others.', {
      default: false,
    }),
  ),
  defaultIssuer: optional(
    text(
      'The certificate authority that signs for this site where nothing else is named. On Kubernetes a Secret; without a cluster ' +
        'a directory below `input/issuers/`. Left out: one is made.',
    ),
  ),
  networkId: optional(text(`The id of the network that the site is part of. ${REFUSED}`)),
  serviceAccount: optional(text("The ServiceAccount of the router's pods. Only on Kubernetes. Left out: one is made.")),
  settings: optional(
    mapOf(
      text('The value of the setting.'),
      'Further settings by name, for what has no field of its own. `link-suspect-after`, such as `2s`: after how long a silence of the other ' +
        'end new connections avoid a link. `link-dead-after`, such as `30s`: after how long the link is given up. `networks`: container ' +
        'networks in which the site has a router, separated by commas, on machines with Podman or Docker.',
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
  address: optional(text('The address and port that it comes from.')),
  cost: optional(integer('int32', 'What the path over it costs, as the other site says.')),
  operational: optional(flag('Whether traffic can pass.')),
  since: optional(text('Since when that is so.')),
  message: optional(text('Why it ended, while it is not operational.')),
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
  services: optional(listOf(serviceRecord, 'The routing keys that the site has connectors or listeners of.')),
});

export const siteStatus = statusWith(
  '`Configured`: the router has the configuration. `Running`: a router runs. `Resolved`: it is known where other sites can link ' +
    'to this one. `Ready`: all of these.',
  {
    endpoints,
    sitesInNetwork: optional(integer('int32', 'How many sites are reachable, this one included.')),
    network: optional(listOf(siteRecord, 'The sites that are reachable, as this one sees them.')),
    incomingLinks: optional(
      listOf(incomingLink, 'Links that other sites opened to this one, and the last one of each site that has none any more.'),
    ),
    defaultIssuer: optional(text('The certificate authority in use.')),
    controller: optional(
      object('Who looks after this site.', {
        name: optional(text('The name of the program.')),
        namespace: optional(text('The namespace in which it runs.')),
        version: optional(text('Its version.')),
      }),
    ),
  },
);
