import { conditions } from '../condition-schema.ts';
import { anyObject, flag, integer, listOf, mapOf, nullable, object, optional, text } from '../schema.ts';
import { ingressAddresses } from './address.ts';

/**
 * The schema does not limit numbers, names or uniqueness: objects admitted earlier stay valid, and a condition reports unusable
 * ports.
 */
export const listenerPort = object('One port.', {
  name: text('The name of the port, unique within the Listener; pods read the public number by it.'),
  port: integer('int32', 'The port number, at which the pods listen as well.'),
  protocol: nullable(text('`TCP`, `UDP` or `SCTP`. Default: `TCP`.')),
});

export const listenerSpec = object('Pods to expose, and the policy for it.', {
  className: nullable(text('The ListenerClass that says how the pods are exposed.')),
  extraPodSelectorLabels: optional(
    mapOf(
      text('The value of the label.'),
      "Labels that a pod must have as well in order to be exposed. It must still mount the Listener's volume.",
      { default: {} },
    ),
  ),
  ports: nullable(listOf(listenerPort, 'The ports to expose.')),
  publishNotReadyAddresses: nullable(
    flag(
      'Whether pods get traffic before they are ready. Peers of one replicated system often have to reach each other ' +
        'in order to become ready.',
      { default: true },
    ),
  ),
  objectOverrides: optional(
    listOf(
      anyObject('An object with `apiVersion`, `kind`, `metadata.name`, and what is to be different.'),
      'Parts of objects, each merged over the generated object of the same `apiVersion`, `kind` and `metadata.name`. That is ' +
        "the Service `v1` of the Listener's name. They apply after the class's `serviceOverrides`, " +
        'by the same rules.',
      { default: [] },
    ),
  ),
});

export const listenerStatus = object('How clients reach the pods.', {
  serviceName: nullable(text('The Service that exposes the pods, in the same namespace.')),
  ingressAddresses: ingressAddresses('The addresses at which the Listener can be reached now, the preferred one first.'),
  nodePorts: nullable(
    mapOf(
      integer('int32', 'A node port.'),
      'For each port, by its name, the number at which every node answers. Only where the Service has node ports.',
    ),
  ),
  conditions: optional(conditions('Conditions: `Accepted` (the Listener is valid) and `Ready` (it has an address).')),
  observedGeneration: optional(integer('int64', '`metadata.generation` of the Listener to which this status belongs.')),
});
