import type { TLSSocket } from 'node:tls';
import { bounded } from '../telemetry/boundary.ts';
import { handshakeScheduler } from './handshake-scheduler.ts';
import { limitRenegotiation } from './renegotiation.ts';
import { limitKeyUpdatesOf } from './key-updates.ts';

/**
 * Bounds what a server has this process do by TLS, whoever it is: its handshakes are read in turn with all others, and its keys change, and offers to resume come, now and then only.
 * To be called as soon as there is the socket.
 *
 * @param server whose handshakes wait where one has made work
 */
export function limitOutgoingTls(socket: TLSSocket, server: string): void {
  limitKeyUpdatesOf(socket);
  const end = (): void => void socket.destroy();
  const begin = (): void => handshakeScheduler.begin(socket, server, 'outgoing');
  if (socket.connecting) socket.once('connect', bounded('connection/outgoing-connected', begin, end));
  else begin();
  const onSecure = (): void => {
    limitRenegotiation(socket);
    handshakeScheduler.end(socket);
  };
  socket.once('secureConnect', bounded('connection/outgoing-secure', onSecure, end));
}
