import type { ListenerPort } from '../../api/listeners/index.ts';

export interface NamedPort {
  /** No other port of the list has it. */
  readonly name: string;
  /** As it was asked for. */
  readonly wanted: ListenerPort;
}

/**
 * Gives each port a name of its own, as a Service must and pods read numbers by name. Of ports with one name the last
 * keeps it (as users of this API are used to); the others, and those without a name, are called after their number.
 * The ports come in the order that they are given in.
 */
export function namePorts(ports: readonly ListenerPort[]): readonly NamedPort[] {
  const owners = new Map(ports.filter(({ name }) => name !== '').map((port) => [port.name, port]));
  return ports.map((wanted) => {
    if (owners.get(wanted.name) === wanted) return { name: wanted.name, wanted };
    const name = firstFree(`port-${wanted.port}`, owners);
    owners.set(name, wanted);
    return { name, wanted };
  });
}

function firstFree(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let next = 2; taken.has(free); next++) free = `${name}-${next}`;
  return free;
}
