import { Buffer } from 'node:buffer';
import { createCipheriv, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls, createServer, type ConnectionOptions, type TlsOptions, type TLSSocket } from 'node:tls';

const CIPHER = 'TLS_AES_128_GCM_SHA256';

export interface KeyChanger extends Disposable {
  readonly tls: TLSSocket;
  /** From which it comes. */
  readonly address: string;
  /** Writes so many records that change the client's keys, one after the other. To be called once, and nothing is to have been written before. */
  change(times: number): void;
}

/** Records that a server sends by its first keys for connections that are to be resumed. */
const TICKETS = 2;

let clients = 1;

/**
 * A client that can change its keys any number of times, which Node.js does not offer. Each has an address of its own: a costly handshake
 * delays all of its address.
 */
export async function keyChanger(port: number, options: ConnectionOptions = {}): Promise<KeyChanger> {
  clients += 1;
  const address = `127.0.9.${clients}`;
  const raw = connectTcp({ port, host: '127.0.0.1', localAddress: address });
  const tls = connectTls({ socket: raw, ciphers: CIPHER, rejectUnauthorized: false, ...options });
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  tls.on('keylog', (line: Buffer) => {
    const [label, , secret = ''] = line.toString('latin1').trim().split(' ');
    if (label === 'CLIENT_TRAFFIC_SECRET_0') resolve(Buffer.from(secret, 'hex'));
  });
  for (const socket of [raw, tls]) socket.on('error', () => {});
  tls.resume();
  await once(tls, 'secureConnect');
  const secret = await promise;
  // The end of the handshake leaves after this event.
  await nextTurn();
  return {
    tls,
    address,
    change: (times) => void raw.write(keyUpdates(secret, times, 0)),
    [Symbol.dispose]: () => {
      tls.destroy();
      raw.destroy();
    },
  };
}

type InsistentServer = AsyncDisposable & { readonly port: number };

/** A server that does so by itself, so many times, with each client. */
export function keyChangingServer(times: number, options: TlsOptions): Promise<InsistentServer> {
  return insistentServer((secret) => keyUpdates(secret, times, TICKETS), options);
}

/** A server that offers so many times that the connection may be resumed. */
export function ticketServer(times: number, options: TlsOptions): Promise<InsistentServer> {
  return insistentServer((secret) => tickets(secret, times, TICKETS), options);
}

/** @param says after the handshake, by the secret of its keys */
async function insistentServer(says: (secret: Buffer) => Buffer, options: TlsOptions): Promise<InsistentServer> {
  const server = createServer({ ...options, ciphers: CIPHER, minVersion: 'TLSv1.3' });
  const raws = new Map<number | undefined, Socket>();
  server.on('connection', (raw) => {
    raw.on('error', () => {});
    raws.set(raw.remotePort, raw);
  });
  server.on('keylog', (line: Buffer, tls) => {
    const [label, , secret = ''] = line.toString('latin1').trim().split(' ');
    if (label !== 'SERVER_TRAFFIC_SECRET_0') return;
    const { remotePort } = tls;
    tls.once('secure', () => setImmediate(() => raws.get(remotePort)?.write(says(Buffer.from(secret, 'hex')))));
  });
  server.on('secureConnection', (tls) => tls.on('error', () => {}).resume());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server that listens has an address.
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const raw of raws.values()) raw.destroy();
      await once(server, 'close');
    },
  };
}

/** RFC 8446 sections 4.6.3, 5.2, 5.3 and 7.2. @param written records by the first keys */
function keyUpdates(first: Buffer, times: number, written: number): Buffer {
  let secret = first;
  return Buffer.concat(
    Array.from({ length: times }, (_, number) => {
      // KeyUpdate, update_not_requested.
      const update = record(secret, number === 0 ? written : 0, Buffer.of(24, 0, 0, 1, 0));
      secret = expand(secret, 'traffic upd', 32);
      return update;
    }),
  );
}

/** RFC 8446 section 4.6.1: of 256 s, each with a ticket of one byte. */
function tickets(secret: Buffer, times: number, written: number): Buffer {
  const ticket = Buffer.of(4, 0, 0, 14, 0, 0, 1, 0, 1, 2, 3, 4, 0, 0, 1, 9, 0, 0);
  return Buffer.concat(Array.from({ length: times }, (_, number) => record(secret, written + number, ticket)));
}

/** One of a handshake (RFC 8446 section 5.2). @param number of the record, by these keys, below 65,536 */
function record(secret: Buffer, number: number, message: Buffer): Buffer {
  const iv = expand(secret, 'iv', 12);
  iv.writeUInt16BE(iv.readUInt16BE(10) ^ number, 10);
  const cipher = createCipheriv('aes-128-gcm', expand(secret, 'key', 16), iv);
  const inner = Buffer.concat([message, Buffer.of(22)]);
  const head = Buffer.of(23, 3, 3, 0, inner.length + 16);
  cipher.setAAD(head);
  return Buffer.concat([head, cipher.update(inner), cipher.final(), cipher.getAuthTag()]);
}

/** HKDF-Expand-Label without a context, of one block (RFC 8446 section 7.1, RFC 5869 section 2.3). */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.of(0, length, name.length), name, Buffer.of(0), Buffer.of(1)]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}
