import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import type { TlsBundle } from '../../../../src/identity/tls-bundle.ts';
import { ApiPort } from '../../../../src/platform/kubernetes/api-port.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { freshCertificate } from '../../support/certificate.ts';
import { quietApi } from '../../support/router-api.ts';

const log = createLogger({ level: 'silent', component: 'test' });
const fresh = (): TlsBundle => ({ name: 'skupper-local-server', ...freshCertificate() });

/** @param port 0 for any free one */
function aPort(port = 0): { readonly port: ApiPort; bundle: TlsBundle | undefined } {
  const api = quietApi();
  const world: ReturnType<typeof aPort> = {
    bundle: undefined,
    port: new ApiPort({ api, port, bundle: async () => world.bundle, revoked: () => ({ sites: [], serials: [] }), log }),
  };
  return world;
}

async function follow(port: ApiPort): Promise<void> {
  port.follow();
  await port.idle();
}

/** The certificate shown to any client; access is decided later. */
async function shownAt(port: number | undefined): Promise<string | undefined> {
  const socket = connect({ port: port ?? 0, host: '127.0.0.1', rejectUnauthorized: false });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  const shown = socket.getPeerX509Certificate()?.toString();
  socket.destroy();
  return shown;
}

test('a router can be asked once its certificate is there, by each new one, and not with one that is no good', async () => {
  const world = aPort();
  await using port = world.port;
  await follow(port);
  assert.equal(port.port, undefined);
  const [first, second] = [fresh(), fresh()];
  for (const bundle of [first, second]) {
    world.bundle = bundle;
    await follow(port);
    assert.equal(await shownAt(port.port), bundle.cert);
  }
  for (const bundle of [
    { ...first, key: second.key ?? '' },
    { name: 'half', cert: first.cert ?? '' },
    { ...first, ca: 'none' },
    undefined,
  ]) {
    world.bundle = bundle;
    await follow(port);
    assert.equal(await shownAt(port.port), second.cert);
  }
});

test('a router whose API port is taken continues without, until the port is free', async () => {
  const other = createServer();
  other.listen(0);
  await once(other, 'listening');
  const world = aPort((other.address() as AddressInfo).port);
  await using port = world.port;
  world.bundle = fresh();
  await follow(port);
  assert.equal(port.port, undefined);
  other.close();
  await once(other, 'close');
  await follow(port);
  assert.equal(await shownAt(port.port), world.bundle.cert);
});
