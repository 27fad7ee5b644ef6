import { Buffer } from 'node:buffer';
import { createCipheriv, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net';
import { duplexPair, type Duplex } from 'node:stream';
import { connect as connectTls, createSecureContext, TLSSocket, type SecureContextOptions } from 'node:tls';

/** TLS 1.2, and a cipher whose records are simple to make. */
const OLD = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' } as const;
const HELLO_REQUEST = 0;
const CLIENT_HELLO = 1;

export interface AskingClient extends Disposable {
  /** As it comes from the router. */
  readonly raw: Socket;
  /** Sends so many messages that begin a handshake, one after the other, once the first is over. */
  ask(times: number): void;
}

/** A client that can ask for another handshake as often as it likes, without waiting for what is said to that. */
export async function askingClient(port: number): Promise<AskingClient> {
  const raw = connectTcp({ port, host: '127.0.0.1' });
  await once(raw, 'connect');
  const { inner, keys } = below(raw, 'read');
  const tls = connectTls({ ...OLD, socket: inner, rejectUnauthorized: false });
  tls.on('error', () => {}).on('keylog', keys.onLine);
  await once(tls, 'secureConnect');
  return {
    raw,
    ask: (times) => void raw.write(messages(keys.found('client'), CLIENT_HELLO, times)),
    [Symbol.dispose]: () => {
      tls.destroy();
      raw.destroy();
    },
  };
}

export interface AskingServer extends AsyncDisposable {
  readonly port: number;
  /** Content types of the records that came after it had asked (RFC 5246 section 6.2.1). */
  readonly answers: readonly number[];
}

/**
 * A server that asks each of its clients for another handshake so many times. From then on it only reads: OpenSSL would end the connection
 * of a client that refuses.
 */
export async function askingServer(times: number, options: SecureContextOptions): Promise<AskingServer> {
  const secureContext = createSecureContext({ ...OLD, ...options });
  const raws = new Set<Socket>();
  const answers: number[] = [];
  const server = createServer((raw) => {
    raws.add(raw);
    const { inner, keys, release } = below(raw, 'written');
    const tls = new TLSSocket(inner, { isServer: true, secureContext });
    tls.on('error', () => {}).on('keylog', keys.onLine);
    const ask = (): void => {
      release();
      const records = new RecordReader();
      raw.on('data', (bytes: Buffer) => answers.push(...records.typesIn(bytes))).resume();
      raw.write(messages(keys.found('server'), HELLO_REQUEST, times));
    };
    // The end of the handshake leaves after this event.
    tls.once('secure', () => setImmediate(ask));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server that listens has an address.
    port: (server.address() as AddressInfo).port,
    answers,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const raw of raws) raw.destroy();
      await once(server, 'close');
    },
  };
}

/** Finds the records in a stream. */
class RecordReader {
  #rest = Buffer.alloc(0);

  /** Content types of the records that end in these bytes. */
  typesIn(bytes: Buffer): readonly number[] {
    const types: number[] = [];
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= 5 && this.#rest.length >= 5 + this.#rest.readUInt16BE(3)) {
      types.push(this.#rest.readUInt8(0));
      this.#rest = this.#rest.subarray(5 + this.#rest.readUInt16BE(3));
    }
    return types;
  }
}

interface Keys {
  readonly onLine: (line: Buffer) => void;
  found(side: 'client' | 'server'): { readonly key: Buffer; readonly salt: Buffer };
}

interface Below {
  readonly inner: Duplex;
  readonly keys: Keys;
  /** From then on, TLS receives nothing. */
  readonly release: () => void;
}

/** What TLS is to be made on, and the keys that it then has. @param hello where that of the server comes by */
function below(raw: Socket, hello: 'read' | 'written'): Below {
  const [inner, outer] = duplexPair();
  for (const each of [raw, inner, outer]) each.on('error', () => {});
  let first: Buffer | undefined;
  const seen = { read: raw, written: outer }[hello];
  seen.once('data', (bytes: Buffer) => (first = bytes));
  raw.pipe(outer).pipe(raw);
  let secrets: readonly Buffer[] = [];
  const onLine = (line: Buffer): void => {
    const [, random = '', master = ''] = line.toString('latin1').trim().split(' ');
    secrets = [random, master].map((hex) => Buffer.from(hex, 'hex'));
  };
  const found: Keys['found'] = (side) => {
    const [random, master] = secrets;
    if (first === undefined || random === undefined || master === undefined) throw new Error('there has been no handshake');
    // 5 bytes of the record, 4 of the message, 2 of the version.
    const block = expand(master, Buffer.concat([Buffer.from('key expansion'), first.subarray(11, 43), random]));
    return side === 'client'
      ? { key: block.subarray(0, 16), salt: block.subarray(32, 36) }
      : { key: block.subarray(16, 32), salt: block.subarray(36, 40) };
  };
  return { inner, keys: { onLine, found }, release: () => void raw.unpipe(outer) };
}

/**
 * Empty handshake messages, each in a record of its own (RFC 5246 section 6.2.3.3, RFC 5288 section 3). The first record marks the end of
 * a handshake.
 */
function messages({ key, salt }: { readonly key: Buffer; readonly salt: Buffer }, type: number, times: number): Buffer {
  const message = Buffer.of(type, 0, 0, 0);
  return Buffer.concat(
    Array.from({ length: times }, (_, before) => {
      const number = Buffer.alloc(8);
      number.writeUInt32BE(before + 1, 4);
      const cipher = createCipheriv('aes-128-gcm', key, Buffer.concat([salt, number]));
      cipher.setAAD(Buffer.concat([number, Buffer.of(22, 3, 3, 0, message.length)]));
      const hidden = Buffer.concat([cipher.update(message), cipher.final(), cipher.getAuthTag()]);
      return Buffer.concat([Buffer.of(22, 3, 3, 0, number.length + hidden.length), number, hidden]);
    }),
  );
}

/** Two blocks of P_SHA256 (RFC 5246 section 5): 64 bytes. */
function expand(secret: Buffer, seed: Buffer): Buffer {
  const hmac = (...parts: readonly Buffer[]): Buffer => createHmac('sha256', secret).update(Buffer.concat(parts)).digest();
  const first = hmac(seed);
  return Buffer.concat([hmac(first, seed), hmac(hmac(first), seed)]);
}
