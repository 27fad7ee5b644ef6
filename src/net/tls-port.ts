import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { bounded } from '../telemetry/boundary.ts';
import type { TlsAcceptor } from './tls-acceptor.ts';

export interface TlsPort {
  readonly port: number;
  /** Stops listening, and closes all connections that have a slot. */
  close(): Promise<void>;
}

/**
 * Listens for the connections of one TLS server.
 *
 * @param onNotAccepted called when the system could not accept a connection, for example because no file descriptor is left
 * @throws the system's error if it cannot listen on the port
 */
export async function listenForTls(
  acceptor: TlsAcceptor,
  server: TlsServer,
  { port, host, onNotAccepted }: { readonly port: number; readonly host?: string; onNotAccepted(): void },
): Promise<TlsPort> {
  const listening: Server = createServer({ pauseOnConnect: true, noDelay: true });
  const begin = (raw: Socket): void => acceptor.accept(raw, server);
  listening.on(
    'connection',
    bounded('connection/tls-port-begin', begin, (_, raw) => void raw.destroy()),
  );
  listening.listen(port, host);
  await once(listening, 'listening');
  // An HTTP server checks its timeouts from now on.
  server.emit('listening');
  listening.on('error', bounded('connection/tls-port-not-accepted', onNotAccepted));
  return {
    // A listening TCP server has an address and a port.
    port: (listening.address() as AddressInfo).port,
    async close() {
      server.close();
      acceptor.closeUnreleased();
      if (listening.listening) await once(listening.close(), 'close');
    },
  };
}
