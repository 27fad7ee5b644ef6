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

export const listenerSpec = object('A host and port for clients, connected to a routing key.', {
  routingKey: routingKey('Connections go to connectors with this routing key, in this site or any other.'),
  host: host(
    'Host for clients. On Kubernetes the name of a Service, which is created; without a cluster a name or an address of this ' +
      'machine. Several listeners may share one host.',
  ),
  port: port('The port that clients connect to.'),
  tlsCredentials: optional(tlsCredentials('that is presented to clients.')),
  requireClientCert: optional(flag(`${requireClientCert} Default: false.`)),
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
