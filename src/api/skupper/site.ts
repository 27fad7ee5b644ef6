import { flag, integer, listOf, object, optional, text } from '../schema.ts';
import { endpoints, settings, statusWith } from './parts.ts';

export const siteSpec = object(
  {
    linkAccess: optional(
      text({
        description:
          'Whether and how other sites can link to this one. `none`, or left out: not at all. `default`: as is usual on the platform. ' +
          '`route`, `loadbalancer`, `nodeport`: by an object of that type on Kubernetes. `listenerclass:NAME`: by a Listener of that ' +
          'ListenerClass. Without a cluster every word but `none` opens the ports of this machine.',
      }),
    ),
    ha: optional(flag({ description: 'Whether the site runs two routers, so that one can go away.', default: false })),
    edge: optional(
      flag({
        description: 'Whether the site is an edge site: it links to others, none link to it, and it carries nothing between others.',
        default: false,
      }),
    ),
    defaultIssuer: optional(
      text({
        description:
          'The certificate authority that signs for this site where nothing else is named. On Kubernetes a Secret; without a cluster ' +
          'a directory below `input/issuers/`. Left out: one is made.',
      }),
    ),
    serviceAccount: optional(text({ description: "The ServiceAccount of the router's pods. Only on Kubernetes. Left out: one is made." })),
    settings,
  },
  { description: 'How the site takes part in the network.' },
);

const linkRecord = object(
  {
    name: optional(text({ description: 'The name of the Link at the site that opens it.' })),
    remoteSiteId: optional(text({ description: 'The id of the site at the other end.' })),
    remoteSiteName: optional(text({ description: 'The name of the site at the other end.' })),
    operational: optional(flag({ description: 'Whether traffic can pass.' })),
  },
  { description: 'One link of the site.' },
);

const serviceRecord = object(
  {
    routingKey: optional(text({ description: 'The routing key.' })),
    connectors: optional(listOf(text({ description: 'A connector.' }), { description: 'The connectors of the key at that site.' })),
    listeners: optional(listOf(text({ description: 'A listener.' }), { description: 'The listeners of the key at that site.' })),
  },
  { description: 'One routing key at the site.' },
);

const siteRecord = object(
  {
    id: optional(text({ description: 'The id of the site.' })),
    name: optional(text({ description: 'The name of the site.' })),
    namespace: optional(text({ description: 'The namespace of the site.' })),
    platform: optional(text({ description: 'What the site runs on: `kubernetes` or `linux`.' })),
    version: optional(text({ description: "The version of the site's router." })),
    links: optional(listOf(linkRecord, { description: 'The links that the site opens.' })),
    services: optional(listOf(serviceRecord, { description: 'The routing keys that the site has connectors or listeners of.' })),
  },
  { description: 'One site of the network.' },
);

export const siteStatus = statusWith(
  '`Configured`: the router has the configuration. `Running`: a router runs. `Resolved`: it is known where other sites can link ' +
    'to this one. `Ready`: all of these.',
  {
    endpoints,
    sitesInNetwork: optional(integer('int32', { description: 'How many sites are reachable, this one included.' })),
    network: optional(listOf(siteRecord, { description: 'The sites that are reachable, as this one sees them.' })),
    defaultIssuer: optional(text({ description: 'The certificate authority in use.' })),
    controller: optional(
      object(
        {
          name: optional(text({ description: 'The name of the program.' })),
          namespace: optional(text({ description: 'The namespace in which it runs.' })),
          version: optional(text({ description: 'Its version.' })),
        },
        { description: 'Who looks after this site.' },
      ),
    ),
  },
);
