import { object, optional, text } from '../schema.ts';
import {
  exposePodsByName,
  hasMatchingListener,
  includeNotReadyPods,
  port,
  routingKey,
  selectedPods,
  settings,
  statusWith,
  tlsCredentials,
  type,
  useClientCert,
} from './parts.ts';

export const attachedConnectorSpec = object('Pods of this namespace that a site of another namespace connects to.', {
  siteNamespace: text('The namespace of the site.', { minLength: 1, maxLength: 63 }),
  port: port('The port of the pods.'),
  selector: text('The pods that are the servers, as a label selector.', { minLength: 1 }),
  tlsCredentials: optional(tlsCredentials('for connections to the pods, which then use TLS.')),
  useClientCert,
  includeNotReadyPods,
  type,
  settings,
});

export const attachedConnectorStatus = statusWith('`Configured`: the router of the site has the connector. `Ready`: the same.', {
  selectedPods,
});

export const attachedConnectorBindingSpec = object('Binds a routing key of this site to an AttachedConnector of another namespace.', {
  connectorNamespace: text('The namespace of the AttachedConnector of the same name.', { minLength: 1, maxLength: 63 }),
  routingKey: routingKey('Connections to listeners with this routing key go there.'),
  exposePodsByName,
  settings,
});

export const attachedConnectorBindingStatus = statusWith(
  '`Configured`: the router has the connector. `Matched`: a listener of its routing key is reachable. `Ready`: both.',
  { hasMatchingListener },
);
