import { fileURLToPath } from 'node:url';
import type { Host } from './host.ts';
import type { Program } from '../../harness/program.ts';

const PROGRAM = fileURLToPath(new URL('tcp-peer.ts', import.meta.url));

export interface PeerPlace {
  readonly host: string;
  readonly port: number;
}

/** Both ends of one connection, which do their steps (see `tcp-peer.ts`); fails with what either saw otherwise. */
export async function converse(
  server: Host,
  serverSteps: readonly string[],
  client: Host,
  clientSteps: readonly string[],
  { host, port }: PeerPlace = { host: '127.0.0.1', port: 7000 },
): Promise<void> {
  const listening = await startTcpPeer(server, 'listen', { host: '127.0.0.1', port }, serverSteps);
  await using _server = listening;
  await listening.ready(() => listening.output.includes('listening\n'));
  await using connecting = await startTcpPeer(client, 'connect', { host, port }, clientSteps);
  const exits = await Promise.all([connecting.exited, listening.exited]);
  if (exits.every(({ code }) => code === 0)) return;
  const [ofClient, ofServer] = [connecting, listening].map(({ output }) => output.trimEnd().replaceAll('\n', '; '));
  throw new Error(`client: ${ofClient} | server: ${ofServer}`);
}

/** One end alone. */
export async function startTcpPeer(host: Host, role: 'listen' | 'connect', place: PeerPlace, steps: readonly string[]): Promise<Program> {
  return host.spawn([process.execPath, PROGRAM, role, place.host, String(place.port), ...steps], { name: `peer-${role}` });
}
