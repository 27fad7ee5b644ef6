import type { ListenerPort } from '../../api/listeners/index.ts';

export interface NamedPort {
  /** Name of the port, unique in the list. */
  readonly name: string;
  /** The port as requested. */
  readonly wanted: ListenerPort;
}

/**
 * Gives each port a unique name, which Services require and by which pods read port numbers. Of ports with the same name the last
 * one keeps it, as users of this API expect. The others, and unnamed ports, are named after their number. The order is kept.
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
