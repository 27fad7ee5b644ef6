/** Network namespaces that are wired to bridges. */
import { run } from './command.ts';

export interface Wire {
  /** The namespace's own interface. */
  readonly device: string;
  /** The other end of the cable, at the bridge. */
  readonly port: string;
  readonly bridge: string;
  readonly addresses: readonly string[];
}

/** @param switches the namespace of the bridges; the machine's own by default */
export async function addNamespace(netns: string, wires: readonly Wire[], switches?: string): Promise<void> {
  await run('ip', ['netns', 'add', netns]);
  await ipBatch(
    wires.flatMap(({ port, device, bridge }) => [
      `link add ${port} type veth peer name ${device} netns ${netns}`,
      `link set ${port} master ${bridge} up`,
    ]),
    switches,
  );
  const own = wires.flatMap(({ device, addresses }) => [
    `link set ${device} up`,
    ...addresses.map((address) => `addr add ${onLink(address, device)}`),
  ]);
  await ipBatch(['link set lo up', ...own], netns);
}

/** An address of a wire, as `ip addr` takes it. */
export function onLink(address: string, device: string): string {
  // Duplicate address detection would hold the address back for a second.
  return isV6(address) ? `${address}/64 dev ${device} nodad` : `${address}/24 dev ${device}`;
}

export function isV6(address: string): boolean {
  return address.includes(':');
}

/** Many changes in one process: each start of `ip` costs more than the change. */
export async function ipBatch(lines: readonly string[], netns?: string): Promise<void> {
  await run('ip', [...(netns === undefined ? [] : ['-n', netns]), '-batch', '-'], { input: `${lines.join('\n')}\n` });
}
