import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface Loopback extends AsyncDisposable {
  readonly near: Socket;
  readonly far: Socket;
}

/** Both ends of a TCP connection on this machine. */
export async function loopback(): Promise<Loopback> {
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server's address is never a string
  const near = connect({ port, host: '127.0.0.1', noDelay: true });
  const accepted = once(server, 'connection');
  await once(near, 'connect');
  const [far] = (await accepted) as [Socket]; // what `connection` brings
  return {
    near,
    far,
    [Symbol.asyncDispose]: async () => {
      near.destroy();
      far.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
