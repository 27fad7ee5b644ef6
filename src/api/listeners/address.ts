import { choice, integer, listOf, mapOf, nullable, object, text } from '../schema.ts';

/** Where something can be reached. */
export const ingress = object(
  {
    address: text({ description: 'A host name or an IP address.' }),
    addressType: choice(['Hostname', 'IP'], { description: 'Which of the two `address` is.' }),
    ports: mapOf(integer('int32', { description: 'A port number to connect to.' }), {
      description:
        'For each port of the Listener, by its name, the number to connect to at this address. It differs from the ' +
        "Listener's own number where the address is a node's (a node port).",
    }),
  },
  { description: 'One address at which clients reach the pods.' },
);

/** A list of such addresses, the preferred one first. */
export function ingressAddresses(description: string) {
  return nullable(listOf(ingress, { description }));
}
