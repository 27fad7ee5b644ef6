/** Errors for a client, and for a reader of statuses, while the server behind a routing key is unavailable. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  connector,
  eventually,
  listener,
  startLinkedPair,
  startNginx,
  startTcpPeer,
  type LinkedPair,
  type Status,
} from './harness/index.ts';

const PORT = 7000;
const PAGE = ['curl', '-sS', '--max-time', '15', `http://127.0.0.1:${PORT}/`];

/** Nothing listens where the connector leads. */
async function deserted(t: TestContext): Promise<LinkedPair> {
  const pair = await startLinkedPair(t, { web: PORT });
  await pair.ready();
  return pair;
}

interface Case {
  readonly host: string;
  readonly message: RegExp;
  readonly reason: string;
}

const FAILURES: Readonly<Record<string, Case>> = {
  'a server that refuses': {
    host: '127.0.0.1',
    message: /^Connection refused: nothing is listening at 127\.0\.0\.1:7000\./,
    reason: 'refused',
  },
  'a name that does not resolve': { host: 'nowhere.example', message: /"nowhere\.example" has no address/, reason: 'name-unknown' },
  'an unused address': { host: '10.66.1.99', message: /10\.66\.1\.99:7000/, reason: 'unreachable' },
  'a network without a route': { host: '192.0.2.1', message: /192\.0\.2\.1:7000/, reason: 'unreachable' },
};

test('a client whose server cannot be had is reset, the connector says why, and both recover by themselves', async (t) => {
  await using pair = await deserted(t);
  const { west, east, client, server } = pair;
  for (const [name, { host, message, reason }] of Object.entries(FAILURES)) {
    await t.test(name, async () => {
      const failed = (): Promise<number> => east.metric('earshot_router_connections_failed_total', { reason });
      const before = await failed();
      await east.apply(connector('web', host, PORT));
      // A client that comes before the change is read fails for the reason of before.
      await eventually('a client to fail for it, and the connector to say so', async () => {
        await assert.rejects(client.run(PAGE), /reset by peer/);
        const { status, message: told = '' } = (await east.status('Connector', 'web')) ?? {};
        return status === 'Pending' && message.test(told) && (await failed()) > before;
      });
    });
  }
  await t.test('the server is there at last', async () => {
    await startNginx(server, { port: PORT });
    await east.apply(connector('web', '127.0.0.1', PORT));
    await east.waitFor('Connector', 'web');
    assert.equal(await client.run(PAGE), 'hello from east\n');
    assert.equal((await west.waitFor('Listener', 'web')).hasMatchingConnector, true);
  });
});

test('a server that comes back is found without a change of any resource', async (t) => {
  await using pair = await deserted(t);
  const { east, client, server } = pair;
  // Not curl: a reset that comes before it looks again is a failure to connect in its words.
  const visitor = await startTcpPeer(client, 'connect', { host: '127.0.0.1', port: PORT }, ['hear-reset']);
  assert.deepEqual(await visitor.exited, { code: 0, signal: null }, visitor.output);
  await east.waitFor('Connector', 'web', ({ message = '' }) => message.startsWith('Connection refused'));
  await startNginx(server, { port: PORT });
  await east.waitFor('Connector', 'web');
  assert.equal(await client.run(PAGE), 'hello from east\n');
});

test('a server that does not answer is given up in time, and delays no one else', async (t) => {
  await using pair = await startLinkedPair(t, { web: 8080 });
  const { west, east, client, server } = pair;
  await startNginx(server, { port: 8080 });
  await server.address('add', '10.66.1.200');
  await server.drop('10.66.1.200', PORT);
  await east.apply(connector('silent', '10.66.1.200', PORT));
  await west.apply(listener('silent', '127.0.0.1', PORT));
  await pair.ready();
  await west.waitFor('Listener', 'silent', ({ hasMatchingConnector }) => hasMatchingConnector === true);
  const waiting = client.attempt(PAGE);
  const knocking = ['ss', '-Htn', 'state', 'syn-sent'];
  await eventually('the client to wait', async () => (await server.run(knocking)).includes(`10.66.1.200:${PORT}`));
  for (let at = 0; at < 20; at += 1) assert.equal(await client.run(['curl', '-sS', 'http://127.0.0.1:8080/']), 'hello from east\n');
  const { code, stderr } = await waiting;
  assert.match(stderr, /reset by peer/);
  assert.equal(code, 56);
  const isTold = ({ status, message = '' }: Status): boolean => status !== 'Ready' && message.includes(`10.66.1.200:${PORT}`);
  await east.waitFor('Connector', 'silent', isTold);
});
