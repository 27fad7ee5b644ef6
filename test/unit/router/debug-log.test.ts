/** Debug log of routers: the lines of each link and connection can be followed, and joined with those of the other end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { startRouter } from '../../../src/router/router.ts';
import type { Router, RouterConfig } from '../../../src/router/contract.ts';
import { eventually } from '../../harness/wait.ts';
import { freePort } from '../support/free-port.ts';
import { logLines, type LogLines } from '../support/log-lines.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, until } from './support/site.ts';

interface Logged extends AsyncDisposable {
  readonly router: Router;
  readonly lines: LogLines;
}

async function startLogged(config: RouterConfig, level: 'debug' | 'info' = 'debug'): Promise<Logged> {
  const lines = logLines(level);
  const router = await startRouter(config, {}, { log: lines.log });
  return { router, lines, [Symbol.asyncDispose]: () => router[Symbol.asyncDispose]() };
}

/** A way to a port on which nothing arrives while it is held. */
async function holdableWay(port: number): Promise<AsyncDisposable & { readonly port: number; hold(isHeld: boolean): void }> {
  const sockets = new Set<Socket>();
  let held = false;
  const hold = (socket: Socket): Socket => (held ? socket.pause() : socket.resume());
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) hold(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server that listens has an address.
    port: (server.address() as AddressInfo).port,
    hold: (isHeld) => {
      held = isHeld;
      sockets.forEach(hold);
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const storyOf = ({ lines }: Logged, field: string, id: unknown, ...fields: readonly string[]): readonly string[] =>
  lines
    .story(field, ...fields)
    .flatMap((line) => (line.includes(` ${field}=${String(id)}`) ? [line.replace(` ${field}=${String(id)}`, '')] : []));

/** IDs of the links that are up. */
function upLinks({ lines: { entries } }: Logged): ReadonlySet<unknown> {
  const idsOf = (wanted: string): ReadonlySet<unknown> =>
    new Set(entries.flatMap(({ message, link: of }) => (message === wanted ? [of] : [])));
  return idsOf('adjacent router').difference(idsOf('adjacency ended'));
}

test('each state of a link is logged at both ends, with the same ID', async () => {
  const authority = await testAuthority();
  const liveness = { suspectAfter: 1_000, deadAfter: 60_000 };
  await using west = await startLogged({ ...siteConfig('west'), liveness, accesses: [access(await authority.issue())] });
  await using way = await holdableWay(await accessPort(west.router));
  const links = [link('to-west', way.port, await authority.issue())];
  await using east = await startLogged({ ...siteConfig('east'), liveness, links });
  const ends = [west, east];
  await until(east.router, 'the link', ({ links: { 'to-west': own } }) => own?.operational === true && own.silentSince === undefined);
  await until(west.router, 'its other end', ({ incoming: [own] }) => own !== undefined && own.silentSince === undefined);
  // A busy machine may have fallen silent already, and opened and ended another link.
  const id = await eventually('one link', () => {
    const [one, ...more] = upLinks(west).intersection(upLinks(east));
    return more.length === 0 ? one : undefined;
  });
  const logged = (start: string): Promise<unknown> =>
    Promise.all(ends.map((end) => eventually(start, () => storyOf(end, 'link', id).some((line) => line.startsWith(start)))));
  way.hold(true);
  await logged('link silent');
  way.hold(false);
  await logged('link is no longer silent');
  west.router.leave();
  await eventually('the notice', () => storyOf(east, 'link', id).some((line) => line.includes('shutting down')));
  await west.router.drain(0);
  await logged('link closed');
  // A busy machine may be silent more often.
  const [atWest = [], atEast = []] = ends.map((end) => [...new Set(storyOf(end, 'link', id, 'linkName', 'remoteSite'))].sort());
  const common = ['adjacency ended', 'adjacent router', 'link attached', 'link closed', 'link connected'];
  const silence = ['link is no longer silent', 'link silent'];
  assert.deepEqual(
    atWest,
    [...common, ...silence].map((line) => `${line} remoteSite=east`),
  );
  assert.deepEqual(
    atEast.filter((line) => !/^link (up|lost)/.test(line)),
    [
      ...common.map((line) => `${line} linkName=to-west remoteSite=west`),
      'link dialing linkName=to-west',
      'link draining: the other end is shutting down linkName=to-west remoteSite=west',
      ...silence.map((line) => `${line} linkName=to-west remoteSite=west`),
    ],
  );
});

test('a connection is logged at each router on its path, with one ID, its bytes and its end', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer('hello ');
  const port = await freePort();
  await using middle = await startLogged({ ...siteConfig('middle'), accesses: [access(await authority.issue())] });
  const at = await accessPort(middle.router);
  const toMiddle = async (): Promise<Pick<RouterConfig, 'links'>> => ({ links: [link('middle', at, await authority.issue())] });
  const left = { ...siteConfig('left'), ...(await toMiddle()), listeners: [listener('key', port)] };
  const right = { ...siteConfig('right'), ...(await toMiddle()), connectors: [connector('key', echo.port)] };
  await using client = await startLogged(left);
  await using server = await startLogged(right);
  await until(client.router, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  assert.equal(await ask(port, 'text'), 'hello text');
  const find = ({ lines }: Logged): string | undefined => lines.story('connection').find((line) => line.startsWith('connection ended'));
  for (const each of [client, middle, server]) await eventually('its end', () => find(each) !== undefined);
  const id = find(client)?.split('=')[1];
  assert.match(id ?? '', /^[0-9a-z]{1,32}$/);
  const fields = ['role', 'routingKey', 'listener', 'from', 'to', 'remoteSite', 'toServer', 'toClient', 'reset'];
  const path = `from=${left.site.id} to=${right.site.id}/main`;
  const stories = [client, middle, server].map((each) => storyOf(each, 'connection', id, ...fields));
  assert.deepEqual(stories, [
    [
      `connection opened role=listener routingKey=key listener=Listener/key ${path} remoteSite=right`,
      'connection ended role=listener routingKey=key toServer=4 toClient=10',
    ],
    [`connection opened role=relay routingKey=key ${path}`, 'connection ended role=relay routingKey=key toServer=4 toClient=10'],
    [
      `connection opened role=connector routingKey=key ${path} remoteSite=left`,
      'connection ended role=connector routingKey=key toServer=4 toClient=10',
    ],
  ]);
});
