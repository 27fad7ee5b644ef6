import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testAuthority } from '../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from '../support/site.ts';

test('both ends of a link that is up report its bytes, streams, start and the expiry of the other certificate', async () => {
  const authority = await testAuthority();
  const before = Date.now();
  const port = await freePort();
  await using echo = await echoServer();
  await using west = await start({
    ...siteConfig('west'),
    accesses: [access(await authority.issue())],
    listeners: [listener('web', port)],
  });
  await using east = await start({
    ...siteConfig('east'),
    links: [link('west', await accessPort(west), await authority.issue())],
    connectors: [connector('web', echo.port)],
  });
  await until(west, 'the listener', ({ listeners }) => listeners['Listener/web']?.listening === true);
  assert.equal((await ask(port, 'x'.repeat(100_000))).length, 100_000);
  const [outgoing, incoming] = [east.state.links['west'], west.state.incoming[0]];
  for (const end of [outgoing, incoming]) {
    const { since = 0, certificateExpires = 0, bytes, streams = 0 } = end?.figures ?? {};
    assert.ok(since >= before && since <= Date.now());
    assert.ok(certificateExpires > Date.now());
    assert.ok(bytes !== undefined && bytes.sent > 100_000 && bytes.received > 100_000, JSON.stringify(end));
    assert.ok(streams >= 1, 'that of routing');
  }
  assert.deepEqual([outgoing?.attempts, outgoing?.lastProblem], [1, undefined]);
});

test('a link keeps its last problem and counts its attempts after it came up', async () => {
  const authority = await testAuthority();
  const closed = await freePort();
  const tls = await authority.issue();
  const config = siteConfig('east');
  await using west = await start({ ...siteConfig('west'), accesses: [access(await authority.issue())] });
  await using east = await start({ ...config, links: [link('west', closed, tls)] });
  const before = Date.now();
  await until(east, 'a problem', ({ links }) => links['west']?.problem?.code === 'refused');
  assert.equal(east.state.links['west']?.figures, undefined);
  east.apply({ ...config, links: [link('west', await accessPort(west), tls)] });
  await until(east, 'the link', ({ links }) => links['west']?.operational === true);
  const { problem, lastProblem, attempts = 0 } = east.state.links['west'] ?? {};
  assert.deepEqual([problem, lastProblem?.code], [undefined, 'refused']);
  assert.ok(attempts >= 2 && (lastProblem?.at ?? 0) >= before - 20_000 && (lastProblem?.at ?? Infinity) <= Date.now());
});
