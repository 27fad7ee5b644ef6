import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { Router } from '../../../../src/router/contract.ts';
import type { TlsBundle } from '../../../../src/identity/tls-bundle.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, connector, echoServer, greeted, link, listener, siteConfig, start, until } from '../support/site.ts';
import { lateHandshake } from './support/late-handshake.ts';

const MINUTE = 60_000;
const authority = await testAuthority();

interface Linked extends AsyncDisposable {
  readonly client: Router;
  readonly server: Router;
  /** A connection that goes through the link. */
  readonly connect: () => Promise<Socket>;
  readonly showAtServer: (tls: TlsBundle, priorRevisions?: number) => void;
  /** The same, while it moves to another port. */
  readonly moveServer: (tls: TlsBundle, priorRevisions?: number) => Promise<void>;
  readonly showAtClient: (tls: TlsBundle, priorRevisions?: number) => Promise<void>;
}

const withPrior = (priorRevisions: number | undefined): { readonly priorRevisions?: number } =>
  priorRevisions === undefined ? {} : { priorRevisions };

/** @param host of the access */
async function linked(host = '127.0.0.1'): Promise<Linked> {
  await using stack = new AsyncDisposableStack();
  const echo = stack.use(await echoServer('hello'));
  const port = await freePort();
  const serverConfig = { ...siteConfig('server'), connectors: [connector('key', echo.port)] };
  let at = await freePort();
  const server = stack.use(await start({ ...serverConfig, accesses: [access(await authority.issue(), { host, port: at })] }));
  await accessPort(server);
  const base = { ...siteConfig('client'), listeners: [listener('key', port)] };
  const client = stack.use(await start({ ...base, links: [link('server', at, await authority.issue())] }));
  await until(client, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
  const owned = stack.move();
  return {
    client,
    server,
    connect: async () => {
      const socket = await greeted(port);
      socket.on('error', () => {});
      return socket;
    },
    showAtServer: (tls, priorRevisions) => {
      server.apply({ ...serverConfig, accesses: [{ ...access(tls, { host, port: at }), ...withPrior(priorRevisions) }] });
    },
    moveServer: async (tls, priorRevisions) => {
      at = await freePort();
      server.apply({ ...serverConfig, accesses: [{ ...access(tls, { host, port: at }), ...withPrior(priorRevisions) }] });
    },
    showAtClient: async (tls, priorRevisions) => {
      const before = server.state.incoming[0]?.serial;
      client.apply({ ...base, links: [{ ...link('server', at, tls), ...withPrior(priorRevisions) }] });
      await until(server, 'the new link', ({ incoming }) => incoming.length === 1 && incoming[0]?.serial !== before);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function assertGoesOn(socket: Socket): Promise<void> {
  socket.write('still there');
  await once(socket, 'data');
}

const ended = (socket: Socket): Promise<unknown> => once(socket, 'error');

describe('connections of certificates that have been replaced', () => {
  it('stay as long as they like, where it is not said for how many', async () => {
    await using net = await linked();
    const held = await net.connect();
    for (let times = 0; times < 3; times += 1) {
      net.showAtServer(await authority.issue());
      await net.showAtClient(await authority.issue());
      await assertGoesOn(held);
    }
  });

  it('end with the replacement at the site that links, where none of an earlier one may stay', async () => {
    await using net = await linked();
    const held = await net.connect();
    const end = ended(held);
    await net.showAtClient(await authority.issue(), 0);
    await end;
    await assertGoesOn(await net.connect());
  });

  it('end with the replacement at the site that is linked to', async () => {
    await using net = await linked();
    const held = await net.connect();
    const end = ended(held);
    net.showAtServer(await authority.issue(), 0);
    await end;
    await until(net.client, 'the link', ({ links }) => links.server?.operational === true);
    await assertGoesOn(await net.connect());
  });

  for (const host of ['127.0.0.1', 'localhost'])
    it(`end with the replacement where that comes with another port at ${host}`, async () => {
      await using net = await linked(host);
      const held = await net.connect();
      const end = ended(held);
      await net.moveServer(await authority.issue(), 0);
      await end;
    });

  it('stay for as many replacements as it is said', async () => {
    await using net = await linked();
    const held = await net.connect();
    const end = ended(held);
    await net.showAtClient(await authority.issue(), 1);
    await assertGoesOn(held);
    await net.showAtClient(await authority.issue(), 1);
    await end;
  });

  it('end when less is said, and stay where the same certificate is shown again', async () => {
    await using net = await linked();
    const tls = await authority.issue();
    const held = await net.connect();
    net.showAtServer(tls);
    net.showAtServer({ ...tls }, 1);
    await assertGoesOn(held);
    const end = ended(held);
    net.showAtServer(tls, 0);
    await end;
    assert.ok(held.destroyed);
  });

  it('are refused where they were shown one that was replaced during their handshake', async () => {
    const tls = await authority.issue();
    const config = siteConfig('server');
    await using server = await start({ ...config, accesses: [access(tls)] });
    const port = await accessPort(server);
    const next = { ...access(await authority.issue()), port, ...withPrior(0) };
    const told = await lateHandshake(port, tls, () => server.apply({ ...config, accesses: [next] }));
    assert.match(told, /The certificate has been replaced/);
  });

  it('end when what is to replace it begins', async (t) => {
    // While time stands still a busy machine may find no time for paths.
    await using net = await linked();
    const held = await net.connect();
    // OpenSSL's clock cannot be mocked: by that one, all of it has begun.
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 10 * MINUTE });
    const end = ended(held);
    const next = await authority.issue({ from: new Date(Date.now() + MINUTE) });
    net.showAtServer(next, 0);
    const { problem } = net.server.state.accesses.access ?? {};
    assert.equal(problem?.code, 'tls-not-yet-valid');
    net.showAtServer(next, 0);
    t.mock.timers.tick(1_000);
    await new Promise<void>((resolve) => net.server.onChange(resolve));
    await new Promise<void>((resolve) => net.server.onChange(resolve));
    assert.deepEqual(net.server.state.accesses.access?.problem, problem, 'that it is later is no news');
    await assertGoesOn(held);
    t.mock.timers.tick(MINUTE);
    await end;
    assert.equal(net.server.state.accesses.access?.problem, undefined);
    await until(net.client, 'the link', ({ links }) => links.server?.operational === true);
  });

  it('stay where what is to replace it cannot be used', async () => {
    await using net = await linked();
    const held = await net.connect();
    net.showAtServer({ name: 'mangled', cert: 'nothing', key: 'nothing', ca: 'nothing' }, 0);
    await assertGoesOn(held);
  });
});
