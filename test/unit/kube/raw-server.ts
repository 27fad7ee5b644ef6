import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import { createClient, type ClientOptions } from '../../../src/kube/client/client.ts';
import { fixedConfig } from '../../../src/kube/client/connection.ts';
import type { Certificate } from '../support/certificate.ts';

/** A received request, byte for byte. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Counts connections from 1. */
  readonly connection: number;
}

export type RawHandler = (request: RawRequest, socket: Socket) => void;

/** A server that answers with whatever bytes the handler writes to the socket. */
export class RawServer implements AsyncDisposable {
  readonly requests: RawRequest[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #listener: Server;
  readonly #handler: RawHandler;
  readonly #scheme: string;
  #connections = 0;

  static async start(handler: RawHandler, certificate?: Certificate, port = 0): Promise<RawServer> {
    const server = new RawServer(handler, certificate);
    server.#listener.listen(port, '127.0.0.1');
    await once(server.#listener, 'listening');
    return server;
  }

  private constructor(handler: RawHandler, certificate: Certificate | undefined) {
    this.#handler = handler;
    this.#scheme = certificate === undefined ? 'http' : 'https';
    const onSocket = (socket: Socket): void => this.#serve(socket);
    this.#listener = certificate === undefined ? createServer(onSocket) : createTlsServer(certificate, onSocket);
  }

  get port(): number {
    // A TCP server's address is always of this type.
    return (this.#listener.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  get open(): number {
    return this.#sockets.size;
  }

  get connections(): number {
    return this.#connections;
  }

  client(options: Partial<ClientOptions> = {}): ReturnType<typeof createClient> {
    return createClient({ config: fixedConfig({ server: this.url }), userAgent: 'test/1', fieldManager: 'tester', ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(socket: Socket): void {
    const connection = ++this.#connections;
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
      for (let next = parse(received, connection); next !== undefined; next = parse(received, connection)) {
        received = received.slice(next.length);
        this.requests.push(next.request);
        this.#handler(next.request, socket);
      }
    });
  }
}

function parse(received: string, connection: number): { request: RawRequest; length: number } | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = received.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((header) => [header.slice(0, header.indexOf(':')).toLowerCase(), header.slice(header.indexOf(':') + 1).trim()]),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (received.length < length) return undefined;
  const [method = '', target = ''] = first.split(' ');
  const url = new URL(target, 'http://test');
  const body = Buffer.from(received.slice(end + 4, length), 'latin1').toString('utf8');
  const path = target.split('?')[0] ?? '';
  return { request: { method, path, query: url.searchParams, headers, body, connection }, length };
}

export function answer(socket: Socket, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const all = { 'content-length': String(Buffer.byteLength(text)), ...headers };
  const fields = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} Whatever\r\n${fields.join('')}\r\n${text}`);
}

/** The head of an answer whose body follows in chunks, as the API server sends watches. */
export function startChunks(socket: Socket): void {
  socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
}

export function chunk(socket: Socket, text: string): void {
  socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

export function endChunks(socket: Socket): void {
  socket.write('0\r\n\r\n');
}

export function eventLine(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

export function configMap(name: string, resourceVersion: string, data: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name, uid: `uid-${name}`, resourceVersion }, data };
}

export function failure(code: number, reason: string, message: string, more: object = {}): object {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message, metadata: {}, ...more };
}
