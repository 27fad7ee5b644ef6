import { choice, integer, listOf, mapOf, nullable, object, text } from '../schema.ts';

/** Schema of one address of a Listener. */
export const ingress = object('One address at which clients reach the pods.', {
  address: text('A host name or an IP address.'),
  addressType: choice(['Hostname', 'IP'], 'Which of the two `address` is.'),
  ports: mapOf(
    integer('int32', 'A port number to connect to.'),
    'For each port of the Listener, by its name, the number to connect to at this address. It differs from the ' +
      "Listener's own number where the address is a node's (a node port).",
  ),
});

/** Schema of a list of addresses, preferred address first. */
export function ingressAddresses(description: string) {
  return nullable(listOf(ingress, description));
}
