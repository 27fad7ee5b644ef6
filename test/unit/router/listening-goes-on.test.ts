import assert from 'node:assert/strict';
import fs, { mkdtempDisposableSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Server, Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { startRouter } from '../../../src/router/router.ts';
import { eventually } from '../../harness/wait.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from './support/site.ts';

const failed = (code: string, call: string): NodeJS.ErrnoException => Object.assign(new Error(`${call} ${code}`), { code });

/** All servers that listen from now on. */
function servers(t: TestContext): readonly Server[] {
  const all: Server[] = [];
  const { listen } = Server.prototype;
  t.mock.method(Server.prototype, 'listen', function (this: Server, ...given: Parameters<typeof listen>) {
    all.push(this);
    return listen.apply(this, given);
  });
  return all;
}

describe('a router', () => {
  for (const code of ['EMFILE', 'ENOBUFS']) {
    it(`keeps listening while accepts fail (${code}), and serves the connections it can accept`, async (t) => {
      const authority = await testAuthority();
      const bundle = await authority.issue();
      await using echo = await echoServer();
      using directory = mkdtempDisposableSync('/tmp/earshot-accepts-');
      const port = await freePort();
      const all = servers(t);
      const said: string[] = [];
      const log = pino({ level: 'warn' }, { write: (line: string) => said.push(line) });
      const config = {
        ...siteConfig('hub'),
        accesses: [access(bundle)],
        listeners: [listener('key', port)],
        connectors: [connector('key', echo.port)],
        siblings: { kind: 'unix' as const, socket: `${directory.path}/one`, others: [], sharesPorts: true },
      };
      await using hub = await startRouter(config, {}, { log });
      const accessAt = await accessPort(hub);
      await until(hub, 'it listens', ({ listeners }) => listeners['Listener/key']?.listening === true);
      assert.equal(all.length, 3, 'a listener, an access, and a socket for siblings');
      // A system that is short of something says so more than once.
      for (const server of [...all, ...all]) server.emit('error', failed(code, 'accept'));
      const told = said.filter((line) => line.includes(`could not be accepted (${code})`));
      assert.equal(told.length, 4, 'a line of the listener and one of the access, each time');
      assert.equal(await ask(port, 'hello'), 'hello');
      await using west = await start({ ...siteConfig('west'), links: [link('hub', accessAt, bundle)] });
      await until(west, 'the link', ({ links }) => links['hub']?.operational === true);
      assert.equal(
        all.every(({ listening }) => listening),
        true,
      );
    });
  }

  it('reaches a server again once the system has sockets again, and says so meanwhile', async (t) => {
    await using echo = await echoServer();
    const port = await freePort();
    await using router = await start({
      ...siteConfig('west'),
      listeners: [listener('key', port)],
      connectors: [connector('key', echo.port)],
    });
    await until(router, 'it listens', ({ listeners }) => listeners['Listener/key']?.listening === true);
    const { connect } = Socket.prototype;
    const none = t.mock.method(Socket.prototype, 'connect', function (this: Socket, ...given: readonly unknown[]) {
      if (Object(given[0]).port !== echo.port) return connect.apply(this, given as unknown as Parameters<typeof connect>);
      return this.destroy(failed('ENOBUFS', 'connect'));
    });
    assert.equal(await ask(port, 'hello').catch(() => 'reset'), 'reset');
    const health = () => router.state.connectors['Connector/key']?.servers;
    const problem = (): string => (health()?.kind === 'failing' ? JSON.stringify(health()) : '');
    await until(router, 'the error', () => /127\.0\.0\.1:\d+ failed \(ENOBUFS\)/.test(problem()));
    none.mock.restore();
    assert.equal(await ask(port, 'hello'), 'hello');
  });

  it('opens a link once the process may open files again, says so meanwhile, and what is open goes on', async (t) => {
    const authority = await testAuthority();
    const bundle = await authority.issue();
    await using echo = await echoServer();
    const port = await freePort();
    await using hub = await start({ ...siteConfig('hub'), accesses: [access(bundle)], connectors: [connector('key', echo.port)] });
    const accessAt = await accessPort(hub);
    const config = { ...siteConfig('west'), listeners: [listener('key', port)], links: [link('hub', accessAt, bundle)] };
    await using west = await start(config);
    await until(west, 'the link', ({ listeners }) => listeners['Listener/key']?.listening === true);
    const { connect } = Socket.prototype;
    const none = t.mock.method(Socket.prototype, 'connect', function (this: Socket, ...given: readonly unknown[]) {
      const [to] = [given[0]].flat();
      if (Object(to).port !== accessAt) return connect.apply(this, given as unknown as Parameters<typeof connect>);
      return this.destroy(failed('EMFILE', 'connect'));
    });
    west.apply({ ...config, links: [...config.links, link('again', accessAt, bundle)] });
    await until(west, 'the error', ({ links }) => /EMFILE/.test(links['again']?.problem?.message ?? ''));
    assert.equal(await ask(port, 'hello'), 'hello');
    none.mock.restore();
    await until(west, 'the other link', ({ links }) => links['again']?.operational === true);
  });

  for (const call of ['unlinkSync', 'chmodSync'] as const) {
    it(`links to its siblings once its socket can be created, whatever ${call} failed with`, async (t) => {
      using directory = mkdtempDisposableSync('/tmp/earshot-siblings-');
      const [one, two] = [`${directory.path}/one`, `${directory.path}/two`];
      const faulty = t.mock.method(fs, call, () => {
        throw failed('EACCES', call);
      });
      syncBuiltinESMExports();
      const config = siteConfig('west');
      await using first = await start({
        ...config,
        router: 'one',
        siblings: { kind: 'unix', socket: one, others: [two], sharesPorts: true },
      });
      await using second = await start({
        ...config,
        router: 'two',
        siblings: { kind: 'unix', socket: two, others: [one], sharesPorts: true },
      });
      await eventually('it was tried', () => faulty.mock.callCount() >= 2);
      assert.equal(first.state.network.length, 1);
      faulty.mock.restore();
      syncBuiltinESMExports();
      await until(first, 'its sibling', ({ network }) => network.length === 2);
      await until(second, 'its sibling', ({ network }) => network.length === 2);
    });
  }
});
