import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TlsBundle } from '../../../../../src/identity/tls-bundle.ts';
import { waitForClose } from '../../../support/wait-for-close.ts';

/** Starts a TLS handshake at an access, continues it after `change`, and waits for the end. @returns all text received */
export async function lateHandshake(port: number, { ca, cert, key }: TlsBundle, change: () => void): Promise<string> {
  const show = { ca, cert, key, rejectUnauthorized: false, ALPNProtocols: ['h2'] };
  const waiting = connect(port, '127.0.0.1');
  await once(waiting, 'connect');
  // Accepted after the one that waits.
  const first = connectTls({ ...show, port, host: '127.0.0.1' });
  first.on('error', () => {});
  await once(first, 'secureConnect');
  change();
  const late = connectTls({ ...show, socket: waiting });
  const told: Buffer[] = [];
  late.on('data', (chunk: Buffer) => told.push(chunk));
  await waitForClose(late);
  first.destroy();
  return Buffer.concat(told).toString('latin1');
}
