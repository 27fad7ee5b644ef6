/** How connections end: what one end does, the other end sees, with two sites in between as without them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { converse, eventually, startLinkedPair, startTcpPeer } from './harness/index.ts';

const BULK = 8_000_000;

interface Case {
  readonly client: readonly string[];
  readonly server: readonly string[];
}

const ENDINGS: Readonly<Record<string, Case>> = {
  'the client ends first and still hears the answer': {
    client: ['say:question', 'end', 'hear:answer', 'hear-end'],
    server: ['hear:question', 'hear-end', 'say:answer', 'end'],
  },
  'the server ends first and still hears the client': {
    client: ['say:hello', 'hear:bye', 'hear-end', 'say:one more thing', 'end'],
    server: ['hear:hello', 'say:bye', 'end', 'hear:one more thing', 'hear-end'],
  },
  'both end at once': { client: ['say:x', 'hear:y', 'end', 'hear-end'], server: ['say:y', 'hear:x', 'end', 'hear-end'] },
  'the server speaks first': {
    client: ['hear:welcome', 'say:thanks', 'end', 'hear-end'],
    server: ['say:welcome', 'hear:thanks', 'hear-end', 'end'],
  },
  'the client ends without a word': { client: ['end', 'hear-end'], server: ['hear-end', 'end'] },
  'the server ends without a word': { client: ['hear-end', 'end'], server: ['end', 'hear-end'] },
  'much is sent before the client ends, and much after that': {
    client: [`pour:${BULK}`, 'end', `drink:${BULK}`, 'hear-end'],
    server: [`drink:${BULK}`, 'hear-end', `pour:${BULK}`, 'end'],
  },
  'much is sent before the server ends, and much after that': {
    client: [`drink:${BULK}`, 'hear-end', `pour:${BULK}`, 'end'],
    server: [`pour:${BULK}`, 'end', `drink:${BULK}`, 'hear-end'],
  },
  'both send much at once and end': {
    client: [`pour:${BULK}`, 'end', `drink:${BULK}`, 'hear-end'],
    server: [`pour:${BULK}`, 'end', `drink:${BULK}`, 'hear-end'],
  },
  'the client resets': { client: ['say:x', 'hear:y', 'reset'], server: ['hear:x', 'say:y', 'hear-reset'] },
  'the server resets': { client: ['say:x', 'hear:y', 'say:z', 'hear-reset'], server: ['hear:x', 'say:y', 'hear:z', 'reset'] },
  'the client resets after it has ended': {
    client: ['say:x', 'end', 'hear:y', 'reset'],
    server: ['hear:x', 'hear-end', 'say:y', 'hear-reset'],
  },
  'the server resets after the client has ended': { client: ['say:x', 'end', 'hear-reset'], server: ['hear:x', 'hear-end', 'reset'] },
  'the client resets once it has all that the server sends': { client: [`drink:${BULK}`, 'reset'], server: [`pour:${BULK}`, 'hear-reset'] },
  'the server resets once it has all that the client sends': { client: [`pour:${BULK}`, 'hear-reset'], server: [`drink:${BULK}`, 'reset'] },
};

test('whichever end of a connection ends or resets it, in whatever order, the other end sees the same', async (t) => {
  await using pair = await startLinkedPair(t, { peer: 7000 });
  await pair.ready();
  for (const [name, { client, server }] of Object.entries(ENDINGS)) {
    await t.test(name, () => converse(pair.server, server, pair.client, client));
  }
  await t.test('and nothing is left of them', async () => {
    for (const site of [pair.west, pair.east]) {
      await eventually('no open connection', async () => (await site.metric('earshot_router_connections_open')) === 0);
    }
    assert.equal(await pair.west.metric('earshot_router_connections_opened_total'), Object.keys(ENDINGS).length);
  });
});

test('a client that has ended and then resets is gone for the server too, though the server is silent', async (t) => {
  await using pair = await startLinkedPair(t, { peer: 7000 });
  await pair.ready();
  const place = { host: '127.0.0.1', port: 7000 };
  await using server = await startTcpPeer(pair.server, 'listen', place, ['hear:x', 'hear-end', 'say:y', 'stay']);
  await server.ready(() => server.output.includes('listening\n'));
  await using client = await startTcpPeer(pair.client, 'connect', place, ['say:x', 'end', 'hear:y', 'reset']);
  assert.equal((await client.exited).code, 0, client.output);
  // The state that it would have without knowledge of the reset.
  const waiting = ['ss', '-Htn', 'state', 'close-wait', 'sport = :7000'];
  for (const site of [pair.west, pair.east]) {
    await eventually('no open connection', async () => (await site.metric('earshot_router_connections_open')) === 0, { timeoutMs: 10_000 });
  }
  await eventually("the server's socket to be closed", async () => (await pair.server.run(waiting)).trim() === '', { timeoutMs: 10_000 });
  assert.ok(server.running);
});
