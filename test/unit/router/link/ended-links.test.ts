import assert from 'node:assert/strict';
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
