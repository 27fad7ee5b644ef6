import { conditions } from '../condition-schema.ts';
import { anyObject, flag, integer, listOf, mapOf, nullable, object, optional, text } from '../schema.ts';
import { ingressAddresses } from './address.ts';

/** Nothing here limits numbers, names or uniqueness: what was once admitted stays so, and a condition says what cannot work. */
export const listenerPort = object(
  {
    name: text({ description: 'The name of the port, unique within the Listener; pods read the public number by it.' }),
    port: integer('int32', { description: 'The port number, at which the pods listen as well.' }),
    protocol: nullable(text({ description: '`TCP`, `UDP` or `SCTP`. Left out: `TCP`.' })),
  },
  { description: 'One port.' },
);

export const listenerSpec = object(
  {
    className: nullable(text({ description: 'The ListenerClass that says how the pods are exposed.' })),
    extraPodSelectorLabels: optional(
      mapOf(text({ description: 'The value of the label.' }), {
        description: "Labels that a pod must have as well in order to be exposed. It must still mount the Listener's volume.",
        default: {},
      }),
    ),
    ports: nullable(listOf(listenerPort, { description: 'The ports to expose.' })),
    publishNotReadyAddresses: nullable(
      flag({
        description:
          'Whether pods get traffic before they are ready. Peers of one replicated system often have to reach each other ' +
          'in order to become ready.',
        default: true,
      }),
    ),
    objectOverrides: optional(
      listOf(anyObject({ description: 'An object with `apiVersion`, `kind`, `metadata.name`, and what is to be different.' }), {
        description:
          'Parts of objects, each merged over the object of the same `apiVersion`, `kind` and `metadata.name` that is ' +
          "built for this Listener (the Service `v1`, of the Listener's name), after the class's `serviceOverrides` " +
          'and by the same rules.',
        default: [],
      }),
    ),
  },
  { description: 'What to expose, and by which policy.' },
);

export const listenerStatus = object(
  {
    serviceName: nullable(text({ description: 'The Service that exposes the pods, in the same namespace.' })),
    ingressAddresses: ingressAddresses('The addresses at which the Listener can be reached now, the preferred one first.'),
    nodePorts: nullable(
      mapOf(integer('int32', { description: 'A node port.' }), {
        description: 'For each port, by its name, the number at which every node answers. Only where the Service has node ports.',
      }),
    ),
    conditions: optional(conditions('What is known about the Listener: `Accepted` (it is possible) and `Ready` (it has an address).')),
    observedGeneration: optional(integer('int64', { description: '`metadata.generation` of the Listener to which this status belongs.' })),
  },
  { description: 'How clients reach the pods.' },
);
