import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { context, objectIdentifier, sequence, set, time, unsignedInteger, utf8String } from '../../../../src/x509/der-writer.ts';
import { COMMON_NAME } from '../../../../src/x509/parts.ts';
import { writePem } from '../../../../src/x509/pem.ts';
import { algorithmFor, signed } from '../../../../src/x509/signature.ts';

const DAY = 86_400_000;

/** An untrusted chain as long as OpenSSL accepts from a peer (100 KiB). OpenSSL takes a millisecond or two for each certificate. */
export function longChain(certificates = 180): { readonly cert: string; readonly key: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp521r1' });
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const name = (number: number): Buffer => sequence(set(sequence(objectIdentifier(COMMON_NAME), utf8String(`${number}`))));
  const validity = sequence(time(Date.now() - DAY), time(Date.now() + DAY));
  const chain = Array.from({ length: certificates }, (_, number) => {
    const [version, serial] = [context(0, unsignedInteger(Buffer.of(2))), unsignedInteger(Buffer.of(number))];
    const content = sequence(version, serial, algorithmFor(privateKey).identifier, name(number + 1), validity, name(number), publicKey);
    return writePem('CERTIFICATE', signed(content, privateKey));
  });
  return { cert: chain.join(''), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

export interface HostileServer extends AsyncDisposable {
  readonly port: number;
  readonly refused: number;
  /** The first of its connections has been. */
  looked(): Promise<void>;
}

/** Shows such a chain to each client. @param certificates as many as are accepted, by default */
export async function hostileServer(certificates = 48): Promise<HostileServer> {
  let refused = 0;
  const first = Promise.withResolvers<void>();
  const server = createServer(longChain(certificates));
  server.on('connection', (raw) => {
    raw.on('error', () => {});
    raw.once('close', () => {
      refused += 1;
      first.resolve();
    });
  });
  server.on('tlsClientError', () => {});
  server.on('secureConnection', (socket) => socket.on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server that listens has an address.
    port: (server.address() as AddressInfo).port,
    get refused() {
      return refused;
    },
    looked: () => first.promise,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}
