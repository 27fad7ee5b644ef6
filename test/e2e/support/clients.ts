/** Clients outside the cluster, where exposed pods must answer. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { eventually, type Cluster } from '../../harness/index.ts';

/** Waits until an HTTP server answers at an address as seen from outside, by name or by number; returns what it says. */
export function answerFromOutside(
  cluster: Cluster,
  address: string,
  port: number,
  isWanted: (said: string) => boolean = () => true,
): Promise<string> {
  const url = `http://${hostPart(address)}:${port}/`;
  return eventually(`${url} to answer outside the cluster`, async () => {
    const said = (await cluster.outside(['curl', '-sSf', '--max-time', '3', url])).trim();
    return isWanted(said) ? said : undefined;
  });
}

/** Sends a datagram until it comes back, each time from a new port so that no stale connection track answers for it. */
export async function echoedFromOutside(address: string, port: number, text: string): Promise<string> {
  return eventually(`UDP ${address}:${port} to answer outside the cluster`, async () => {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    try {
      socket.send(text, port, address);
      const [said] = await once(socket, 'message', { signal: AbortSignal.timeout(2_000) });
      return String(said);
    } finally {
      socket.close();
    }
  });
}

export function hostPart(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
