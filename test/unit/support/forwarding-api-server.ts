/** An API server that forwards WebSockets (v4.channel.k8s.io) to TCP ports of this machine, as it does for pods/portforward. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createClient } from '../../../src/kube/client/client.ts';
import { fixedConfig } from '../../../src/kube/client/connection.ts';
import type { KubeClient, PodAccess } from '../../../src/kube/contract.ts';

export interface ForwardingApiServer extends AsyncDisposable {
  readonly paths: string[];
  readonly client: KubeClient & PodAccess;
}

export interface ForwardingOptions {
  /** Port that answers for each pod. */
  readonly port: number;
  /** Sent on the channel of errors in place of data. */
  readonly fault?: string;
  /** Answers in place of an upgrade. */
  readonly refuse?: { readonly status: number; readonly body: object };
  /** Bytes of each frame; larger messages are fragmented. */
  readonly frame?: number;
}

export async function startForwardingApiServer(options: ForwardingOptions): Promise<ForwardingApiServer> {
  const paths: string[] = [];
  const open = new Set<Duplex>();
  const server = createServer();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    paths.push(request.url ?? '');
    open.add(socket);
    socket.on('error', () => undefined);
    forward(request, socket, options);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // It listens at an address.
  const { port } = server.address() as AddressInfo;
  const client = createClient({
    config: fixedConfig({ server: `http://127.0.0.1:${port}` }),
    userAgent: 'test/1',
    fieldManager: 'tester',
    requestTimeout: 2_000,
  });
  return {
    paths,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Serves an upgraded connection. */
export function forward({ headers }: IncomingMessage, socket: Duplex, { port, fault, refuse, frame = 65_536 }: ForwardingOptions): void {
  // As the kubelet does, which names no type for this path.
  if (headers.accept !== '*/*') return void socket.end('HTTP/1.1 406 Not Acceptable\r\ncontent-length: 0\r\n\r\n');
  if (refuse !== undefined) {
    const body = JSON.stringify(refuse.body);
    socket.end(`HTTP/1.1 ${refuse.status} Refused\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    return;
  }
  const accept = createHash('sha1').update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const fields = [
    'upgrade: websocket',
    'connection: upgrade',
    `sec-websocket-accept: ${accept}`,
    'sec-websocket-protocol: v4.channel.k8s.io',
  ];
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields.join('\r\n')}\r\n\r\n`);
  const send = (channel: number, data: Buffer): void => {
    const message = Buffer.concat([Buffer.of(channel), data]);
    for (let at = 0; at < message.length; at += frame)
      socket.write(frameOf(message.subarray(at, at + frame), at, at + frame >= message.length));
  };
  for (const channel of [0, 1]) send(channel, Buffer.of(port & 0xff, port >> 8));
  if (fault !== undefined) return send(1, Buffer.from(fault));
  const target = connect(port, '127.0.0.1');
  target.on('data', (data: Buffer) => send(0, data));
  target.on('close', () => socket.end(Buffer.of(0x88, 0)));
  target.on('error', () => undefined);
  socket.on('close', () => target.destroy());
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let found = messageIn(received); found !== undefined; found = messageIn(received)) {
      received = received.subarray(found.size);
      if (found.kind === 8) target.end();
      else if (found.payload[0] === 0) target.write(found.payload.subarray(1));
    }
  });
}

function frameOf(payload: Buffer, at: number, isLast: boolean): Buffer {
  const first = (isLast ? 0x80 : 0) | (at === 0 ? 2 : 0);
  if (payload.length < 126) return Buffer.concat([Buffer.of(first, payload.length), payload]);
  const head = Buffer.alloc(payload.length < 65_536 ? 4 : 10);
  head.set([first, payload.length < 65_536 ? 126 : 127]);
  if (payload.length < 65_536) head.writeUInt16BE(payload.length, 2);
  else head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

/** A masked frame, unmasked. */
function messageIn(bytes: Buffer): { readonly kind: number; readonly payload: Buffer; readonly size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1) & 0x7f;
  const head = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < head + 4) return undefined;
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < head + 4 + length) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const payload = Buffer.from(bytes.subarray(head + 4, head + 4 + length)).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return { kind: bytes.readUInt8(0) & 0x0f, payload: Buffer.from(payload), size: head + 4 + length };
}
