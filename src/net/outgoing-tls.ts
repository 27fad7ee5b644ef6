import type { TLSSocket } from 'node:tls';
import { bounded } from '../telemetry/boundary.ts';
import { handshakeScheduler } from './handshake-scheduler.ts';
import { limitRenegotiation } from './renegotiation.ts';
import { limitKeyUpdatesOf } from './key-updates.ts';

/**
 * Limits the TLS work that any server can cause: its handshakes are read round-robin with all others, and key updates and session tickets
 * are rate-limited. Must be called right after the socket is created.
 *
 * @param server name of the group whose handshakes pause if one of them causes much work
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
