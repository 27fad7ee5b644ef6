import { flag, integer, listOf, mapOf, object, optional, text } from '../schema.ts';
import { exactlyOne, host, listenerSettings, observer, port, requireClientCert, routingKey, statusWith, tlsCredentials } from './parts.ts';

const priority = object('The first reachable key gets all connections.', {
  routingKeys: listOf(
    routingKey('A routing key.'),
    'Routing keys in order of priority. The first reachable one gets every new connection.',
    { minItems: 1, maxItems: 256, 'x-kubernetes-list-type': 'set' },
  ),
});

const weighted = object('Keys share connections by weight.', {
  routingKeys: mapOf(
    integer('int32', 'The share of the key.', { minimum: 0, maximum: 1_000_000 }),
    'Weights by routing key. Reachable keys share new connections in these proportions. A key of weight 0 ' +
      'gets some only while no other is reachable.',
    { minProperties: 1, maxProperties: 256 },
  ),
});

const strategy = object(
  'How a routing key is chosen for each connection.',
  { priority: optional(priority), weighted: optional(weighted) },
  [
    exactlyOne('priority', 'weighted'),
    {
      rule: 'has(self.priority) == has(oldSelf.priority)',
      message: 'the kind of strategy cannot change: delete this object and create it again',
    },
  ],
);

export const multiKeyListenerSpec = object('A host and port for clients, connected to a routing key.', {
  host: host('Host for clients, as in a Listener.'),
  port: port('The port that clients connect to.'),
  strategy,
  tlsCredentials: optional(tlsCredentials('that is presented to clients.')),
  requireClientCert: optional(flag(requireClientCert, { default: false })),
  observer,
  settings: listenerSettings,
});

const byPriority = {
  routingKeysReachable: optional(listOf(text('A routing key.'), 'Routing keys that are reachable now, in the order of the spec.')),
};

const byWeight = {
  routingKeysReachable: optional(mapOf(integer('int32', 'The weight of the key.'), 'Routing keys that are reachable now.')),
};

export const multiKeyListenerStatus = statusWith(
  '`Configured`: the router has the listener. `Operational`: at least one of its routing keys is reachable. `Ready`: a connection ' +
    'would get through to a server, as far as is known.',
  {
    hasDestination: optional(flag('Whether at least one of the routing keys is reachable.')),
    strategy: optional(
      object('Status of the strategy.', {
        priority: optional(object('Status of the strategy by priority.', byPriority)),
        weighted: optional(object('Status of the strategy by weight.', byWeight)),
      }),
    ),
  },
);
