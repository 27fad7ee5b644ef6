import { integer, listOf, mapOf, object, optional, text } from '../schema.ts';
import { endpoints, port, settings, statusWith } from './parts.ts';
import { accessType } from './router-access.ts';

const securedPort = object(
  {
    name: text({ description: 'The name of the port.' }, { minLength: 1 }),
    port: port('The port that is connected to.'),
    targetPort: optional(integer('int32', { description: 'The port of the pods. Left out: the same.' }, { minimum: 1, maximum: 65_535 })),
    protocol: optional(text({ description: '`TCP` or `UDP`. Left out: `TCP`.' })),
  },
  { description: 'One port.' },
);

export const securedAccessSpec = object(
  {
    ports: listOf(securedPort, { description: 'The ports to reach.' }, { maxItems: 64 }),
    selector: mapOf(text({ description: 'The value of the label.' }), { description: 'The labels of the pods to reach.' }),
    issuer: optional(text({ description: "The certificate authority for the certificate. Left out: the site's `defaultIssuer`." })),
    certificate: optional(text({ description: 'The TLS bundle to make for the pods. Left out: named like this object.' })),
    accessType,
    settings,
  },
  { description: 'What is to be reached, and how.' },
);

export const securedAccessStatus = statusWith(
  '`Configured`: what is needed has been made. `Resolved`: it is known where it can be reached. `Ready`: both.',
  { endpoints, ca: optional(text({ description: 'The certificate authority of the certificate, PEM.' })) },
);
