/** Statuses of servers and sites before the first client: green means working, at both ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IncomingLink } from '../../src/api/skupper/index.ts';
import { connector, eventually, startLinkedPair, startNginx, type Status } from './harness/index.ts';

const PORT = 7100;
const incomingOf = ({ incomingLinks = [] }: Status = {}): readonly IncomingLink[] => incomingLinks as readonly IncomingLink[];

test('a closed port shows at its connector and at the listener of another site without a client, and so does its server once it starts', async (t) => {
  await using pair = await startLinkedPair(t, { web: PORT });
  const { west, east, server } = pair;
  await pair.ready();
  await east.waitFor('Connector', 'web', 'Pending');
  assert.match((await east.status('Connector', 'web'))?.message ?? '', /^Connection refused: nothing is listening at 127\.0\.0\.1:7100\./);
  const told = await west.waitFor('Listener', 'web', ({ status }) => status === 'Pending');
  assert.match(told.message ?? '', /its servers refuse connections: see `earshot connector status` at east/);
  assert.deepEqual(
    told.conditions?.map(({ type, status }) => `${type} ${status}`),
    ['Configured True', 'Matched True', 'Ready False'],
  );
  const waited = await east.attempt(['connector', 'create', 'other', '7101', '--host', '127.0.0.1', '--wait', 'ready', '--timeout', '2s']);
  assert.equal(waited.code, 3);
  assert.match(waited.stderr, /Connection refused: nothing is listening at 127\.0\.0\.1:7101/);

  await startNginx(server, { port: PORT });
  await east.waitFor('Connector', 'web');
  await west.waitFor('Listener', 'web');
});

test('a server that may not be probed is ready until a client fails', async (t) => {
  await using pair = await startLinkedPair(t, { web: PORT });
  const { west, east, client } = pair;
  const unprobed = connector('web', '127.0.0.1', PORT);
  await east.apply({ ...unprobed, spec: { ...unprobed.spec, settings: { probe: 'none' } } });
  await east.waitFor('Connector', 'web');
  await west.waitFor('Listener', 'web');
  await client.attempt(['curl', '-sS', '--max-time', '5', `http://127.0.0.1:${PORT}/`]);
  await east.waitFor('Connector', 'web', 'Pending');
  await west.waitFor('Listener', 'web', 'Pending');
});

test('both ends see a link that is gone, and the listener names the site that served it', async (t) => {
  await using pair = await startLinkedPair(t, { web: PORT });
  const { west, east, server } = pair;
  await startNginx(server, { port: PORT });
  await west.waitFor('Listener', 'web');
  const up = await east.waitFor('Site', 'east', (status) => incomingOf(status).some(({ operational }) => operational === true));
  const [link] = incomingOf(up);
  assert.deepEqual([link?.siteName, link?.cost, link?.message], ['west', 1, undefined]);
  assert.match(link?.address ?? '', /^10\.66\./);
  assert.match(
    await east.earshot(['link', 'status']),
    /Links from other sites\nSITE +STATUS +COST +ADDRESS +SINCE +MESSAGE\nwest +Up +1 +10\.66\./,
  );

  await west.kill9();
  const down = await east.waitFor('Site', 'east', (status) => incomingOf(status).some(({ operational }) => operational === false));
  assert.notEqual(incomingOf(down)[0]?.message ?? '', '');
  await west.start();
  await west.waitFor('Listener', 'web');

  await east.kill9();
  const lost = await west.waitFor('Listener', 'web', ({ message = '' }) => message.includes('unreachable'));
  assert.match(lost.message ?? '', /site "east", which served it, is unreachable since \d{4}-.*Z: /);
  await eventually('the link to say why', async () => ((await west.status('Link', 'to-east'))?.message ?? 'x') !== 'OK');
});
