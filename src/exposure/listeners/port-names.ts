import type { ListenerPort } from '../../api/listeners/index.ts';

/** Maximum number of ports of a Service. */
export const MOST_PORTS = 1_024;

export interface NamedPort {
  /** Name of the port, unique in the list. */
  readonly name: string;
  /** The port as requested. */
  readonly desired: ListenerPort;
}

/**
 * Gives each port a unique name, which Services require and by which pods read port numbers. Of ports with the same name the last
 * one keeps it, as users of this API expect. The others, and unnamed ports, are named after their number. The order is kept.
 */
export function namePorts(ports: readonly ListenerPort[]): readonly NamedPort[] {
  const owners = new Map(ports.filter(({ name }) => name !== '').map((port) => [port.name, port]));
  const last = new Map<string, number>();
  return ports.map((desired) => {
    if (owners.get(desired.name) === desired) return { name: desired.name, desired };
    const name = firstFree(`port-${desired.port}`, owners, last);
    owners.set(name, desired);
    return { name, desired };
  });
}

/** @param last number that was last added to each name, so that many equal names are not tried from 2 on each */
function firstFree(name: string, taken: ReadonlyMap<string, unknown>, last: Map<string, number>): string {
  let free = name;
  for (let next = last.get(name) ?? 2; taken.has(free); next++) {
    free = `${name}-${next}`;
    last.set(name, next);
  }
  return free;
}
