import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { TlsBundle } from '../../../../src/router/contract.ts';

export interface StandardClient extends Disposable {
  readonly session: ClientHttp2Session;
  readonly socket: TLSSocket;
}

/** A client that we did not write, with a certificate of a link. */
export async function standardClient(port: number, tls: TlsBundle): Promise<StandardClient> {
  const { cert = '', key = '', ca = '' } = tls;
  const socket = connectTls({ host: '127.0.0.1', port, cert, key, ca, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  const session = connectHttp2('https://earshot', { createConnection: () => socket });
  session.on('error', () => {});
  return { session, socket, [Symbol.dispose]: () => session.destroy() };
}
