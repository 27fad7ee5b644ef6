import { flag, mapOf, object, optional, text } from '../schema.ts';
import {
  exactlyOne,
  exposePodsByName,
  hasMatchingListener,
  host,
  includeNotReadyPods,
  NETWORK_SETTING,
  port,
  routingKey,
  selectedPods,
  statusWith,
  tlsCredentials,
  type,
  useClientCert,
} from './parts.ts';

export const connectorSpec = object(
  'Connects a routing key to a server.',
  {
    routingKey: routingKey('Connections to listeners with this routing key, in this site or any other, come here.'),
    port: port('The port of the server.'),
    host: optional(host('The name or address of the server. Either this or `selector`; without a cluster always this.')),
    selector: optional(text('The pods that are the servers, as a label selector: `app=backend,tier in (a, b)`. Only on Kubernetes.')),
    tlsCredentials: optional(
      tlsCredentials("for connections to the server, which then use TLS. Its `ca.crt` must have signed the server's certificate."),
    ),
    useClientCert,
    verifyHostname: optional(
      flag(
        "Whether the server's certificate must name the host that is connected to. Default: false on Kubernetes, since pods are " +
          'addressed by IP; true without a cluster.',
      ),
    ),
    includeNotReadyPods,
    exposePodsByName,
    type,
    settings: optional(
      mapOf(
        text('The value of the setting.'),
        'Further settings by name. `probe`: `auto`, or `none` to open connections to the server for clients only. ' + NETWORK_SETTING,
      ),
    ),
  },
  [exactlyOne('host', 'selector')],
);

export const connectorStatus = statusWith(
  '`Configured`: the router has the connector. `Matched`: a listener of its routing key is reachable. `Ready`: both, and a server accepts ' +
    'connections.',
  { selectedPods, hasMatchingListener },
);
