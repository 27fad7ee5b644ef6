import { connect, createServer, type Server, type Socket } from 'node:net';
import { listen } from './two-sides.ts';

/** A client or a server's end of one connection, with all that happened to it. */
export class Peer {
  readonly socket: Socket;
  readonly chunks: Buffer[] = [];
  ended = false;
  closed = false;
  error: NodeJS.ErrnoException | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.chunks.push(chunk));
    socket.on('end', () => {
      this.ended = true;
    });
    socket.on('error', (error) => {
      this.error = error;
    });
    socket.on('close', () => {
      this.closed = true;
    });
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString('latin1');
  }
}

export function dial(port: number): Peer {
  return new Peer(connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
}

export interface TestServer extends Disposable {
  readonly port: number;
  readonly peers: readonly Peer[];
}

/** A server that keeps what comes; `onPeer` may make it do more. */
export async function serve(onPeer: (peer: Peer) => void = () => {}, port = 0): Promise<TestServer> {
  const peers: Peer[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    const peer = new Peer(socket);
    peers.push(peer);
    onPeer(peer);
  });
  const bound = await listen(server, port);
  return {
    port: bound,
    peers,
    [Symbol.dispose]() {
      server.close();
      for (const { socket } of peers) socket.destroy();
    },
  };
}
