import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import type { Stream, StreamHandler } from '../../../../src/http2/contract.ts';
import { limitTable } from '../../../../src/limits/table.ts';
import { metrics } from '../../../../src/telemetry/metrics.ts';
import { pair, row } from '../support/networks.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, connector, link, start, siteConfig, until } from '../support/site.ts';
import { standardClient } from '../support/standard-client.ts';
import { freePort } from '../../support/free-port.ts';

/** Value of a counter over all routers of this process; 0 if it has no sample. */
async function counted(name: string): Promise<number> {
  const lines = (await metrics.metrics()).split('\n').filter((line) => line.startsWith(name) && !line.startsWith('#'));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

suite('a probe of a routing key', () => {
  test('measures each router on the path and the server, and counts as no connection', async () => {
    await using net = await row();
    const before = await counted('earshot_router_connections');
    const { hops, server } = (await net.left.probe({ key: 'key' })) ?? assert.fail('no destination');
    assert.deepEqual(
      hops.map(({ site, ok, version }) => [site, ok, version]),
      [
        ['middle', true, '0.0.0'],
        ['right', true, '0.0.0'],
      ],
    );
    assert.ok(hops.every(({ ms = 0, waited = -1 }) => waited >= 0 && waited <= ms));
    assert.ok(hops.every(({ ms = 0, clockAhead = Infinity }) => ms > 0 && Math.abs(clockAhead) <= ms + 50));
    assert.deepEqual([server?.servers, server?.aside], [1, 0]);
    assert.deepEqual([server?.ok, server?.passed?.length], [true, 1]);
    assert.equal(await counted('earshot_router_connections'), before);
  });

  test('reports the code of a server that refuses', async () => {
    const authority = await testAuthority();
    await using net = await pair(authority);
    const closed = await freePort();
    net.server.apply({ ...net.serverConfig, connectors: [connector('key', closed)] });
    await until(net.server, 'the server to be tried', ({ connectors }) => connectors['Connector/key']?.servers?.kind === 'failing');
    const result = await net.client.probe({ key: 'key' });
    assert.deepEqual([result?.hops.length, result?.server?.ok, result?.server?.code], [1, false, 'target-refused']);
    const here = await net.server.probe({ connector: 'Connector/key' });
    assert.deepEqual([here?.server?.ok, here?.server?.code], [false, 'target-refused']);
    assert.match(here?.server?.says ?? '', new RegExp(`nothing is listening at 127\\.0\\.0\\.1:${closed}`));
  });

  test('connects to a server of the same router, and has no result without a connector', async () => {
    const authority = await testAuthority();
    await using net = await pair(authority);
    const here = await net.server.probe({ key: 'key' });
    assert.deepEqual([here?.hops, here?.server?.ok], [[], true]);
    assert.equal(await net.client.probe({ key: 'other' }), undefined);
    const named = await net.server.probe({ connector: 'Connector/key' });
    assert.deepEqual([named?.key, named?.hops, named?.server?.ok], ['key', [], true]);
    assert.equal(await net.client.probe({ connector: 'Connector/key' }), undefined);
    await using alone = await start(siteConfig('alone'));
    assert.equal(await alone.probe({ key: 'key' }), undefined);
  });

  test('is refused by a peer beyond its rate', async () => {
    const authority = await testAuthority();
    await using net = await pair(authority);
    const results = await Promise.all(Array.from({ length: 12 }, () => net.client.probe({ key: 'key' })));
    const codes = results.flatMap((result) => [...(result?.hops ?? []), ...(result?.server === undefined ? [] : [result.server])]);
    assert.ok(codes.some(({ ok }) => ok) && codes.some(({ code }) => code === 'busy'));
  });

  test('carries no connection between sites that cooperate, through a router that counts none', async () => {
    const authority = await testAuthority();
    await using middle = await start({ ...siteConfig('middle'), accesses: [access(await authority.issue())] });
    const port = await accessPort(middle);
    await using right = await start({ ...siteConfig('right'), links: [link('middle', port, await authority.issue())] });
    await until(middle, 'the other site', ({ network }) => network.length === 2);
    // It answers a probe like a connection, and sends back what it receives.
    const connect = (stream: Stream): StreamHandler => {
      stream.respond({ status: 200, fields: {} });
      const onData = (chunk: Buffer): void => {
        stream.write(Buffer.from(chunk));
        stream.consumed(chunk.length);
      };
      return { onResponse() {}, onData, onEnd() {}, onDrain() {}, onReset() {} };
    };
    Object.assign(right, { connect });
    using left = await standardClient(port, await authority.issue());
    const route = [...middle.state.network].toSorted((one) => (one.site.name === 'middle' ? -1 : 1));
    const stream = left.session.request(
      {
        ':method': 'CONNECT',
        ':authority': 'key',
        'earshot-route': route.map(({ site, router }) => `${site.id}/${router}`).join(' '),
        'earshot-probe': 'connect',
      },
      { endStream: false },
    );
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 200);
    const sent = 2 * limitTable.forwardedQuestionBytes.value;
    let received = 0;
    const { promise: all, resolve } = Promise.withResolvers<void>();
    stream
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        received += chunk.length;
        if (received === sent) resolve();
      });
    stream.write(Buffer.alloc(sent));
    await Promise.race([once(stream, 'close'), all]);
    assert.ok(received <= limitTable.forwardedQuestionBytes.value, `${received} bytes came back`);
  });
});
