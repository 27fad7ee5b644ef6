import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { testAuthority } from '../support/certificates.ts';
import { eventually } from '../../../harness/wait.ts';
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

test('an ended link is forgotten after a day without its site', async (t) => {
  const authority = await testAuthority();
  await using west = await start({ ...siteConfig('west'), accesses: [access(await authority.issue())] });
  const east = await start({ ...siteConfig('east'), links: [link('west', await accessPort(west), await authority.issue())] });
  await until(west, 'the link', ({ incoming }) => incoming.length === 1);
  await east.drain(0);
  await until(west, 'the end of the link', ({ endedIncoming }) => endedIncoming?.length === 1);
  const begun = Date.now();
  const clock = t.mock.method(Date, 'now', () => begun + 86_000_000);
  await eventually('a look at what has expired', () => clock.mock.callCount() > 3);
  assert.equal(west.state.endedIncoming?.length, 1);
  clock.mock.mockImplementation(() => begun + 86_500_000);
  await until(west, 'the link to be forgotten', ({ endedIncoming }) => endedIncoming?.length === 0);
});

const SILENT = /The peer was silent for \d+ s and answered no ping\.$/;
const UNHEARD = /The other end closed the link, because it had received nothing from this one for too long\.$/;

for (const { gives, west: atWest, east: atEast } of [
  { gives: 'accepting', west: SILENT, east: UNHEARD },
  { gives: 'dialing', west: UNHEARD, east: SILENT },
] as const) {
  test(`both ends of a silent link that the ${gives} one gives up name the end that was silent`, async (t) => {
    const authority = await testAuthority();
    const liveness = { suspectAfter: 1_500, deadAfter: 3_000 };
    await using west = await start({
      ...siteConfig('west'),
      ...(gives === 'accepting' ? { liveness } : {}),
      accesses: [access(await authority.issue())],
      connectors: [connector('web', 9)],
    });
    const port = await accessPort(west);
    // The path from the end that falls silent.
    const silenced: Socket[] = [];
    const all: Socket[] = [];
    const path = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      for (const socket of [client, server]) socket.on('error', () => {});
      client.pipe(server).pipe(client);
      all.push(client, server);
      silenced.push(gives === 'accepting' ? client : server);
    });
    await new Promise<void>((resolve) => path.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      path.close();
      for (const socket of all) socket.destroy();
    });
    const { port: through } = path.address() as AddressInfo;
    await using east = await start({
      ...siteConfig('east'),
      ...(gives === 'dialing' ? { liveness } : {}),
      links: [link('west', through, await authority.issue())],
      listeners: [listener('web', await freePort())],
    });
    await until(east, 'the listener', ({ listeners }) => listeners['Listener/web']?.listening === true);
    // Another attempt must not bring the link back before the states are read.
    path.close();
    for (const socket of silenced) socket.unpipe().pause();
    await until(east, 'the end of the link', ({ listeners }) => listeners['Listener/web']?.lostSites !== undefined);
    await until(west, 'the end of the incoming link', ({ endedIncoming = [] }) => endedIncoming.length > 0);
    assert.match(east.state.listeners['Listener/web']?.lostSites?.[0]?.reason ?? '', atEast);
    assert.match(west.state.endedIncoming?.[0]?.reason ?? '', atWest);
  });
}
