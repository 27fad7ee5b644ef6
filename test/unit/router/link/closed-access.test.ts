import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, siteConfig, start } from '../support/site.ts';

const authority = await testAuthority();

test('whose handshake ends after the access has been taken away is not let in', async () => {
  const bundle = await authority.issue();
  const config = siteConfig('west');
  await using west = await start({ ...config, accesses: [access(bundle)] });
  const port = await accessPort(west);
  const show = { ca: bundle.ca, cert: bundle.cert, key: bundle.key, rejectUnauthorized: false, ALPNProtocols: ['h2'] };
  const waiting = connect(port, '127.0.0.1');
  await once(waiting, 'connect');
  // Accepted after the one that waits.
  const first = connectTls({ ...show, port, host: '127.0.0.1' });
  first.on('error', () => {});
  await once(first, 'secureConnect');
  west.apply(config);
  const late = connectTls({ ...show, socket: waiting });
  late.on('error', () => {});
  const told: Buffer[] = [];
  late.on('data', (chunk: Buffer) => told.push(chunk));
  await new Promise((resolve) => late.once('close', resolve));
  assert.equal(Buffer.concat(told).length, 0);
  first.destroy();
});
