import { flag, object, optional } from '../schema.ts';
import {
  exposePodsByName,
  host,
  listenerSettings,
  observer,
  port,
  requireClientCert,
  routingKey,
  statusWith,
  tlsCredentials,
  type,
} from './parts.ts';

export const listenerSpec = object('What clients connect to, and where that leads.', {
  routingKey: routingKey('Connections go to connectors with this routing key, in this site or any other.'),
  host: host(
    'Where clients connect. On Kubernetes the name of a Service that is made; without a cluster a name or an address of this ' +
      'machine. Several listeners may share one host.',
  ),
  port: port('The port that clients connect to.'),
  tlsCredentials: optional(tlsCredentials('that clients are shown.')),
  requireClientCert: optional(flag(`${requireClientCert} Left out: they need not.`)),
  type,
  observer,
  exposePodsByName,
  settings: listenerSettings,
});

export const listenerStatus = statusWith(
  '`Configured`: the router has the listener. `Matched`: a connector of its routing key is reachable. `Ready`: a connection would ' +
    'get through to a server, as far as is known.',
  { hasMatchingConnector: optional(flag('Whether at least one connector with this routing key is reachable in the network.')) },
);
