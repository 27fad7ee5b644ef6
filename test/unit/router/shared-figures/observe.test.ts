/** Routers that ask each other for figures, over links. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { limitTable } from '../../../../src/limits/table.ts';
import type { FigureSharing, ObservedRouter, Router, RouterConfig } from '../../../../src/router/contract.ts';
import { observedIn } from '../../../../src/router/shared-figures/observe-site.ts';
import { metrics } from '../../../../src/telemetry/metrics.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { pair, row, type Row } from '../support/networks.ts';
import { access, accessPort, ask, link, siteConfig, start, until } from '../support/site.ts';
import { standardClient } from '../support/standard-client.ts';

const siteOf = (router: Router): string => router.state.network[0]?.site.id ?? assert.fail('no site');

async function observe(from: Router, site: string): Promise<ObservedRouter> {
  const [only, ...others] = (await from.observe(site)) ?? assert.fail('the site is unreachable');
  assert.deepEqual(others, []);
  return only ?? assert.fail('no router');
}

function share(net: Row, sharing: FigureSharing): void {
  net.right.apply({ ...net.rightConfig, observe: sharing });
}

const codeOf = (observed: ObservedRouter): string => ('code' in observed ? observed.code : 'figures');

async function transitConnections(): Promise<string | undefined> {
  return (await metrics.metrics()).split('\n').find((line) => line.startsWith('earshot_router_transit_connections_total '));
}

suite('the figures of another site', () => {
  test('come through a third site, with sums and links, if the site shares them with the network', async () => {
    await using net = await row();
    share(net, 'network');
    assert.equal(await ask(net.port, 'some bytes'), 'some bytes');
    const before = await transitConnections();
    const observed = await observe(net.left, siteOf(net.right));
    const figures = 'figures' in observed ? observed.figures : assert.fail(observed.message);
    const { opened, failed, up, down, version, links } = figures;
    assert.deepEqual([opened, failed, up, down, version], [1, 0, 10, 10, '0.0.0']);
    assert.deepEqual(
      links.map(({ state, cost }) => [state, cost]),
      [['up', 1]],
    );
    assert.equal(await transitConnections(), before, 'the site between counts no connection');
  });

  for (const sharing of ['site', 'none'] as const)
    test(`are refused to other sites by the setting ${sharing}`, async () => {
      await using net = await row();
      share(net, sharing);
      assert.equal(codeOf(await observe(net.left, siteOf(net.right))), 'not-shared');
    });

  test('are refused by default, and change with the setting', async () => {
    await using net = await row();
    const site = siteOf(net.right);
    assert.equal(codeOf(await observe(net.left, site)), 'not-shared');
    share(net, 'network');
    assert.equal(codeOf(await observe(net.left, site)), 'figures');
    share(net, 'none');
    assert.equal(codeOf(await observe(net.left, site)), 'not-shared');
  });

  test('are refused beyond the rate of a peer', async () => {
    const authority = await testAuthority();
    await using net = await pair(authority);
    net.server.apply({ ...net.serverConfig, observe: 'network' });
    const { burst } = limitTable.observationsOfPeer.value;
    const codes = await Promise.all(Array.from({ length: burst + 10 }, async () => codeOf(await observe(net.client, siteOf(net.server)))));
    assert.ok(codes.includes('busy') && codes.filter((code) => code === 'figures').length >= burst, codes.join());
    await net.service();
  });

  test('are unknown for a site that is unreachable, and at hand for the own router', async () => {
    await using alone = await start({ ...siteConfig('alone'), observe: 'none' });
    assert.equal(await alone.observe('0a1b2c3d-0000-8000-8000-000000000001'), undefined);
    assert.equal(codeOf(await observe(alone, siteOf(alone))), 'figures');
  });

  test('are shared between routers of one site by default', async () => {
    const local = await testAuthority('local CA');
    const bundle = await local.issue({ hosts: ['skupper-router-local'] });
    const ports = { one: await freePort(), two: await freePort() };
    const site = siteConfig('west');
    const west = (router: keyof typeof ports, other: keyof typeof ports): RouterConfig => {
      const others = [{ router: other, host: '127.0.0.1', port: ports[other] }];
      return { ...site, router, siblings: { kind: 'tls', port: ports[router], tls: bundle, others } };
    };
    await using one = await start(west('one', 'two'));
    await using two = await start(west('two', 'one'));
    await until(one, 'the other router', ({ network }) => network.length === 2);
    await until(two, 'the first router', ({ network }) => network.length === 2);
    const observed = (await one.observe(site.site.id)) ?? assert.fail('no router');
    assert.deepEqual(observed.map((each) => [each.router, codeOf(each)]).toSorted(), [
      ['one', 'figures'],
      ['two', 'figures'],
    ]);
  });

  for (const authority of ['earshot:observe', 'earshot%3Aobserve'])
    test(`are not given by default to a client that names no site and asks ${authority} through another router of the site`, async () => {
      const [local, remote] = [await testAuthority('local CA'), await testAuthority()];
      const bundle = await local.issue({ hosts: ['skupper-router-local'] });
      const [onePort, twoPort] = [await freePort(), await freePort()];
      const site = siteConfig('west');
      const west = (router: string, port: number, other: string, otherPort: number): RouterConfig => {
        const others = [{ router: other, host: '127.0.0.1', port: otherPort }];
        return { ...site, router, siblings: { kind: 'tls', port, tls: bundle, others } };
      };
      await using one = await start({ ...west('one', onePort, 'two', twoPort), accesses: [access(await remote.issue())] });
      await using two = await start(west('two', twoPort, 'one', onePort));
      await until(one, 'the other router', ({ network }) => network.length === 2);
      await until(two, 'the first router', ({ network }) => network.length === 2);
      using own = await standardClient(await accessPort(one), await remote.issue());
      const { id } = site.site;
      const stream = own.session.request(
        { ':method': 'CONNECT', ':authority': authority, 'earshot-route': `${id}/one ${id}/two` },
        { endStream: false },
      );
      const [headers] = await once(stream, 'response');
      stream.close();
      assert.equal(headers[':status'], 403);
    });

  test('are not given to a client without a route', async () => {
    const authority = await testAuthority();
    await using net = await pair(authority);
    net.server.apply({ ...net.serverConfig, observe: 'network' });
    using own = await standardClient(net.access, await authority.issue());
    const stream = own.session.request({ ':method': 'CONNECT', ':authority': 'earshot:observe' }, { endStream: false });
    const [headers] = await once(stream, 'response');
    stream.close();
    assert.equal(headers[':status'], 404);
  });
});

suite('an older router', () => {
  test('answers a reserved authority that it does not know with 404', async () => {
    const authority = await testAuthority();
    await using server = await start({ ...siteConfig('old'), accesses: [access(await authority.issue())] });
    const port = await accessPort(server);
    await using client = await start({ ...siteConfig('new'), links: [link('old', port, await authority.issue())] });
    await until(client, 'the link', ({ network }) => network.length === 2);
    using own = await standardClient(port, await authority.issue());
    const route = `${siteOf(server)}/main`;
    const stream = own.session.request(
      { ':method': 'CONNECT', ':authority': 'earshot:later', 'earshot-route': route },
      { endStream: false },
    );
    const [headers] = await once(stream, 'response');
    stream.close();
    assert.equal(headers[':status'], 404);
  });

  for (const [status, fields, body, code] of [
    [404, {}, '', 'no-figures'],
    [403, { 'proxy-status': 'earshot; error=http_request_denied; details="not-shared: words"' }, '', 'not-shared'],
    [403, { 'proxy-status': 'earshot; error=http_request_denied; details="revoked: words"' }, '', 'revoked'],
    [403, {}, '', 'revoked'],
    [502, {}, '', 'closed'],
    [503, {}, '', 'busy'],
    [504, {}, '', 'timeout'],
    [421, {}, '', 'wrong-router'],
    [418, {}, '', 'closed'],
    [200, {}, 'HTTP/1.1 200 OK', 'protocol'],
    [200, {}, '{"open":1}', 'protocol'],
  ] as const)
    test(`or another that answers ${status} ${JSON.stringify(fields)} ${body} has no figures: ${code}`, () => {
      const observed = observedIn('r', { kind: 'answer', head: { status, fields }, ms: 1, body: Buffer.from(body) });
      assert.equal(codeOf(observed), code);
    });
});
