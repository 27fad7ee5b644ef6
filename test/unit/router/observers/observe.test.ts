import assert from 'node:assert/strict';
import { createServer, get } from 'node:http';
import { describe, it } from 'node:test';
import { detect } from '../../../../src/router/observers/observe.ts';
import { metrics } from '../../../../src/telemetry/metrics.ts';
import { eventually } from '../../../harness/wait.ts';
import { freePort } from '../../support/free-port.ts';
import { connector, EAST, EAST_ROUTER, listen, listener, there, twoSides, WEST } from '../local/two-sides.ts';

describe('the protocol of a connection', () => {
  const table = {
    'GET / HTTP/1.1\r\n': 'http1',
    'PROPFIND /a HTTP/1.1': 'http1',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n': 'http2',
    '\x16\x03\x01': undefined,
    'SSH-2.0-OpenSSH\r\n': undefined,
    '*1\r\n$4\r\nPING\r\n': undefined,
    G: undefined,
    '': undefined,
  } as const;
  for (const [first, protocol] of Object.entries(table)) {
    it(`is ${protocol ?? 'not looked at'} where the client begins with ${JSON.stringify(first)}`, () => {
      assert.equal(detect(Buffer.from(first, 'latin1')), protocol);
    });
  }
});

describe('a listener with an observer', () => {
  it('counts requests by key, sites, method and class of status', async () => {
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/ok' ? 200 : 404;
      response.end('body');
    });
    await using sides = await twoSides();
    const port = await freePort();
    sides.west.routing.byKey.set('web', [there(EAST_ROUTER)]);
    sides.east.local.apply([], [connector(await listen(server), 'web')]);
    sides.west.local.apply([listener(port, 'web', { observer: 'auto' })], []);
    await eventually('the listener listens', () => sides.west.local.state.listeners['Listener/web']?.listening);
    for (const path of ['/ok', '/ok', '/missing']) {
      const response = await new Promise<{ resume(): void }>((resolve) => get({ port, path, host: '127.0.0.1' }, resolve));
      response.resume();
    }
    const text = await metrics.metrics();
    const labels = `routing_key="web",from_site="${WEST}",to_site="${EAST}",protocol="http1"`;
    assert.ok(text.includes(`earshot_router_requests_total{${labels},method="GET",status="2xx"} 2`), text);
    assert.ok(text.includes(`earshot_router_requests_total{${labels},method="GET",status="4xx"} 1`), text);
    assert.ok(text.includes(`earshot_router_request_seconds_count{${labels}} 3`), text);
    assert.ok(text.includes('earshot_router_connections_opened_total{routing_key="web",role="listener"}'), text);
    assert.ok(text.includes('earshot_router_bytes_total{routing_key="web",role="connector",direction="to_server"}'), text);
    server.closeAllConnections();
    server.close();
  });
});
