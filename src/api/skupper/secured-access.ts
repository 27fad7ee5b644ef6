import { integer, listOf, mapOf, object, optional, text } from '../schema.ts';
import { endpoints, port, settings, statusWith } from './parts.ts';
import { accessType } from './router-access.ts';

const securedPort = object('One port.', {
  name: text('The name of the port.', { minLength: 1 }),
  port: port('The port that is connected to.'),
  targetPort: optional(integer('int32', 'The port of the pods. Left out: the same.', { minimum: 1, maximum: 65_535 })),
  protocol: optional(text('`TCP` or `UDP`. Left out: `TCP`.')),
});

export const securedAccessSpec = object('What is to be reached, and how.', {
  ports: listOf(securedPort, 'The ports to reach.', { maxItems: 64 }),
  selector: mapOf(text('The value of the label.'), 'The labels of the pods to reach.'),
  issuer: optional(text('The certificate authority for the certificate. Left out: none is made.')),
  certificate: optional(text('The TLS bundle to make for the pods. Left out: named like this object.')),
  accessType,
  settings,
});

export const securedAccessStatus = statusWith(
  '`Configured`: what is needed has been made. `Resolved`: it is known where it can be reached. `Ready`: both.',
  { endpoints, ca: optional(text('The certificate authority of the certificate, PEM.')) },
);
