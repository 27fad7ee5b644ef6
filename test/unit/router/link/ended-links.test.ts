import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { testAuthority } from '../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { access, accessPort, connector, link, listener, siteConfig, start, until } from '../support/site.ts';

test('the accepting side reports an incoming link: site, address, cost, since; and why the last one ended, until the site is back', async () => {
  const authority = await testAuthority();
  const before = Date.now();
  await using west = await start({
    ...siteConfig('west'),
    accesses: [access(await authority.issue())],
    listeners: [listener('web', await freePort())],
  });
  const config = {
    ...siteConfig('east'),
    links: [link('west', await accessPort(west), await authority.issue(), { cost: 7 })],
    connectors: [connector('web', 9)],
  };
  const east = await start(config);
  await until(west, 'the link', ({ incoming, listeners }) => incoming.length === 1 && listeners['Listener/web']?.listening === true);
  const [up] = west.state.incoming;
  assert.equal(up?.siteName, 'east');
  assert.equal(up.cost, 7);
  assert.match(up.address, /^127\.0\.0\.1:\d+$/);
  assert.ok(up.since !== undefined && up.since >= before && up.since <= Date.now());
  assert.equal(west.state.endedIncoming?.length, 0);

  await east.drain(0);
  await until(
    west,
    'the end of the link',
    ({ incoming, listeners }) => incoming.length === 0 && listeners['Listener/web']?.lostSites !== undefined,
  );
  const [ended] = west.state.endedIncoming ?? [];
  assert.deepEqual(
    { ...ended, until: 0, reason: '' },
    { siteId: config.site.id, siteName: 'east', address: up.address, cost: 7, since: up.since, until: 0, reason: '' },
  );
  assert.match(ended?.reason ?? '', /./);
  const [lost] = west.state.listeners['Listener/web']?.lostSites ?? [];
  assert.equal(lost?.siteName, 'east');
  assert.equal(lost.reason, `The link with the site ended: ${ended?.reason}`);

  await using _again = await start(config);
  await until(
    west,
    'the link again',
    ({ incoming, listeners }) => incoming.length === 1 && listeners['Listener/web']?.lostSites === undefined,
  );
  assert.equal(west.state.endedIncoming?.length, 0);
});

test('an incoming link that falls silent says so, and not which stream broke', async (t) => {
  const authority = await testAuthority();
  await using west = await start({
    ...siteConfig('west'),
    liveness: { suspectAfter: 500, deadAfter: 1_000 },
    accesses: [access(await authority.issue())],
  });
  const port = await accessPort(west);
  const sockets: Socket[] = [];
  const path = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    for (const socket of [client, server]) socket.on('error', () => {});
    client.pipe(server).pipe(client);
    sockets.push(client, server);
  });
  await new Promise<void>((resolve) => path.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    path.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port: through } = path.address() as AddressInfo;
  await using _east = await start({ ...siteConfig('east'), links: [link('west', through, await authority.issue())] });
  await until(west, 'the link', ({ incoming }) => incoming.length === 1);
  for (const socket of sockets) socket.unpipe().pause();
  await until(west, 'the end of the link', ({ endedIncoming = [] }) => endedIncoming.length > 0);
  assert.match(west.state.endedIncoming?.[0]?.reason ?? '', /^The peer was silent for \d+ s and answered no ping\.$/);
});
