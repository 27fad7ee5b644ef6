import assert from 'node:assert/strict';
import { createServer, get } from 'node:http';
import { describe, it } from 'node:test';
import { Flag, FrameType, PREFACE, settingsAckFrame, settingsFrame } from '../../../../src/http2/frames.ts';
import { detect, observe } from '../../../../src/router/observers/observe.ts';
import { metrics } from '../../../../src/telemetry/metrics.ts';
import { eventually } from '../../../harness/wait.ts';
import { freePort } from '../../support/free-port.ts';
import { pass, Recorder, type Passing } from './recorder.ts';
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

describe('where the server speaks first', () => {
  const block = (flags: number, field: number): Buffer => Buffer.from([0, 0, 1, FrameType.HEADERS, flags, 0, 0, 0, 1, field]);
  const [get200, answer] = [block(Flag.END_HEADERS, 0x82), block(Flag.END_HEADERS, 0x88)];
  const begin: Passing = [['<', settingsFrame([[3, 100]])]];

  function seen(passing: Passing): readonly string[] {
    const recorder = new Recorder();
    pass(
      observe('auto', () => recorder),
      passing,
    );
    return recorder.seen;
  }

  it('it is HTTP/2 where that says settings, and the client begins as that does', () => {
    assert.deepEqual(seen([...begin, ['>', PREFACE], ['>', get200], ['<', answer]]), ['GET 200']);
    assert.deepEqual(seen([...begin, ['<', settingsAckFrame()], ['>', Buffer.concat([Buffer.from(PREFACE), get200])], ['<', answer]]), [
      'GET 200',
    ]);
  });

  const others: Readonly<Record<string, Passing>> = {
    'the client begins otherwise': [...begin, ['>', 'x'.repeat(PREFACE.length)], ['>', get200], ['<', answer]],
    'the client speaks HTTP/1': [...begin, ['>', 'GET / HTTP/1.1\r\n\r\n'], ['<', 'HTTP/1.1 204 None\r\n\r\n']],
    'it greets': [
      ['<', '220 ready\r\n'],
      ['>', 'GET / HTTP/1.1\r\n\r\n'],
      ['<', 'HTTP/1.1 204 None\r\n\r\n'],
    ],
    'it begins with another frame': [
      ['<', settingsAckFrame()],
      ['>', PREFACE],
      ['>', get200],
      ['<', answer],
    ],
  };
  for (const [what, passing] of Object.entries(others)) it(`nothing is looked at where ${what}`, () => assert.deepEqual(seen(passing), []));
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
