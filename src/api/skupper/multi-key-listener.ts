import { flag, integer, listOf, mapOf, object, optional, text } from '../schema.ts';
import { exactlyOne, host, listenerSettings, observer, port, requireClientCert, routingKey, statusWith, tlsCredentials } from './parts.ts';

const priority = object('One key takes all, the next one only where it cannot be reached.', {
  routingKeys: listOf(
    routingKey('A routing key.'),
    'The routing keys, the most wanted first. The first that can be reached gets every new connection.',
    { minItems: 1, maxItems: 256, 'x-kubernetes-list-type': 'set' },
  ),
});

const weighted = object('Keys share connections by weight.', {
  routingKeys: mapOf(
    integer('int32', 'The share of the key.', { minimum: 0, maximum: 1_000_000 }),
    'Weights by routing key. Reachable keys share new connections in these proportions. A key of weight 0 ' +
      'gets some only while no other can be reached.',
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

export const multiKeyListenerSpec = object('What clients connect to, and where that leads.', {
  host: host('Where clients connect, as in a Listener.'),
  port: port('The port that clients connect to.'),
  strategy,
  tlsCredentials: optional(tlsCredentials('that clients are shown.')),
  requireClientCert: optional(flag(requireClientCert, { default: false })),
  observer,
  settings: listenerSettings,
});

const byPriority = {
  routingKeysReachable: optional(listOf(text('A routing key.'), 'The routing keys that can be reached now, in the order of the spec.')),
};

const byWeight = {
  routingKeysReachable: optional(mapOf(integer('int32', 'The weight of the key.'), 'The routing keys that can be reached now.')),
};

export const multiKeyListenerStatus = statusWith(
  '`Configured`: the router has the listener. `Operational`: at least one of its routing keys can be reached. `Ready`: a connection ' +
    'would get through to a server, as far as is known.',
  {
    hasDestination: optional(flag('Whether at least one of the routing keys can be reached.')),
    strategy: optional(
      object('How the strategy stands.', {
        priority: optional(object('Status of the strategy by priority.', byPriority)),
        weighted: optional(object('Status of the strategy by weight.', byWeight)),
      }),
    ),
  },
);
