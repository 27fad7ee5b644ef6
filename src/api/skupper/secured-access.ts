import { integer, listOf, mapOf, object, optional, text } from '../schema.ts';
import { endpoints, port, settings, statusWith } from './parts.ts';
import { accessType } from './router-access.ts';

const securedPort = object('One port.', {
  name: text('The name of the port.', { minLength: 1 }),
  port: port('The port that is connected to.'),
  targetPort: optional(integer('int32', 'The port of the pods. Default: the same.', { minimum: 1, maximum: 65_535 })),
  protocol: optional(text('`TCP` or `UDP`. Default: `TCP`.')),
});

export const securedAccessSpec = object('Makes pods reachable by TLS from outside of the cluster.', {
  ports: listOf(securedPort, 'The ports to reach.', { maxItems: 64 }),
  selector: mapOf(text('The value of the label.'), 'The labels of the pods to reach.'),
  issuer: optional(text('The certificate authority for the certificate. Without one, no certificate is created.')),
  certificate: optional(text('Name of the TLS bundle for the pods. Default: the name of this object.')),
  accessType,
  settings,
});

export const securedAccessStatus = statusWith(
  '`Configured`: the necessary objects exist. `Resolved`: its addresses are known. `Ready`: both.',
  { endpoints, ca: optional(text('The certificate authority of the certificate, PEM.')) },
);
