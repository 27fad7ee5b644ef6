import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { givingWay } from '../../../../src/router/link/accept/places.ts';
import { openBundle } from '../../../../src/router/link/bundle.ts';
import { openLink, type OpenedLink } from '../../../../src/router/link/dial/outgoing.ts';
import { dialTls } from '../../../../src/router/link/dial/tls-dial.ts';
import { FORWARD } from '../../../../src/router/wire.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { linkHost } from '../support/link-host.ts';
import { access, accessPort, connector, echoServer, greeted, link, listener, siteConfig, start, until } from '../support/site.ts';

const authority = await testAuthority();
const opened = (count: number, places = 1, isLeft = false) => Array.from({ length: count }, () => ({ places, isLeft }));

describe('the sixteen places of a site', () => {
  it('are enough for one connection of a link only where they are for its second, too', () => {
    assert.deepEqual(givingWay(opened(14), 2), []);
    assert.equal(givingWay(opened(15), 2), undefined);
    assert.equal(givingWay([...opened(1, 2), ...opened(13)], 2), undefined);
  });

  it('are given up by what is left of links that are down, the oldest first, and no more of it than has to', () => {
    const [first, second, third] = opened(3, 1, true) as [object, object, object];
    const all = [...opened(6), first, ...opened(6), second, third] as ReturnType<typeof opened>;
    assert.deepEqual(
      givingWay(all, 2)?.map((one) => [first, second, third].indexOf(one)),
      [0],
    );
    assert.deepEqual(
      givingWay(all, 4)?.map((one) => [first, second, third].indexOf(one)),
      [0, 1, 2],
    );
  });

  it('are not freed by any eviction where that is not enough', () => {
    assert.equal(givingWay([...opened(15), ...opened(1, 1, true)], 2), undefined);
  });

  it('let a site renew its link as often as it likes, though each that it has renewed carries something, and the link is never down', async () => {
    await using echo = await echoServer('hello');
    const port = await freePort();
    const server = { ...siteConfig('server'), connectors: [connector('key', echo.port)], accesses: [access(await authority.issue())] };
    await using there = await start(server);
    const at = await accessPort(there);
    const base = { ...siteConfig('client'), listeners: [listener('key', port)] };
    const renewed = async () => ({ ...base, links: [link('server', at, await authority.issue({ siteId: base.site.id }))] });
    await using here = await start(await renewed());
    await until(here, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
    let lapses = 0;
    here.onChange(() => {
      const { links, listeners } = here.state;
      if (links.server?.operational !== true || listeners['Listener/key']?.listening !== true) lapses += 1;
    });
    const held: Socket[] = [];
    for (let renewal = 0; renewal < 20; renewal += 1) {
      const socket = await greeted(port);
      held.push(socket.on('error', () => {}));
      const before = there.state.incoming[0]?.serial;
      here.apply(await renewed());
      await until(there, 'the new link', ({ incoming }) => incoming.length === 1 && incoming[0]?.serial !== before);
    }
    assert.equal(lapses, 0);
    const ended = held.filter(({ destroyed }) => destroyed);
    assert.ok(ended.length > 0 && ended.length < 10, `${ended.length} have ended`);
    assert.deepEqual(ended, held.slice(0, ended.length), 'the oldest ended');
    const last = held.at(-1);
    last?.write('still there');
    assert.equal(String((await once(last as Socket, 'data'))[0]), 'still there');
    for (const socket of held) socket.destroy();
  });

  it('are given up one by one: what an earlier link carries the other way goes on', async () => {
    await using echo = await echoServer('hello');
    const [port, back] = [await freePort(), await freePort()];
    await using there = await start({
      ...siteConfig('server'),
      connectors: [connector('key', echo.port)],
      listeners: [listener('back', back)],
      accesses: [access(await authority.issue())],
    });
    const at = await accessPort(there);
    const base = { ...siteConfig('client'), connectors: [connector('back', echo.port)], listeners: [listener('key', port)] };
    const renewed = async () => ({ ...base, links: [link('server', at, await authority.issue({ siteId: base.site.id }))] });
    await using here = await start(await renewed());
    await until(here, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
    await until(there, 'the listener', ({ listeners }) => listeners['Listener/back']?.listening === true);
    const held = [(await greeted(port)).on('error', () => {}), (await greeted(back)).on('error', () => {})] as const;
    const others: Socket[] = [];
    while (!held[0].destroyed) {
      const before = there.state.incoming[0]?.serial;
      here.apply(await renewed());
      await until(there, 'the new link', ({ incoming }) => incoming.length === 1 && incoming[0]?.serial !== before);
      others.push((await greeted(port)).on('error', () => {}));
      assert.ok(others.length < 20, 'the oldest never ended');
    }
    held[1].write('still there');
    assert.equal(String((await once(held[1], 'data'))[0]), 'still there');
    for (const socket of [...held, ...others]) socket.destroy();
  });

  it('are as many for second connections whose link came in by another port', async () => {
    const names = ['one', 'other', 'full'];
    const accesses = await Promise.all(names.map(async (name) => access(await authority.issue(), { name })));
    await using there = await start({ ...siteConfig('server'), accesses });
    const client = siteConfig('client');
    using host = linkHost(client);
    const bundle = openBundle(await authority.issue({ siteId: client.site.id }), 'client');
    const full = await accessPort(there, 'full');
    const open = async (name: string): Promise<OpenedLink> => {
      const first = await accessPort(there, name);
      return openLink({
        host,
        peer: 'there',
        cost: 1,
        id: randomBytes(10).toString('hex'),
        signal: new AbortController().signal,
        dial: (protocol, deadline, signal) =>
          dialTls({ endpoint: { host: '127.0.0.1', port: protocol === FORWARD ? first : full }, bundle, protocol, deadline, signal }),
      });
    };
    using stack = new DisposableStack();
    const cut = ({ link: one }: OpenedLink): void => one.cut(new Error('the test is over'));
    for (const name of names.slice(0, 2)) for (let count = 0; count < 8; count += 1) stack.adopt(await open(name), cut);
    await assert.rejects(async () => void stack.adopt(await open('one'), cut), { code: 'busy' });
  });
});
