/** Redis through a link: many small commands on their way at once, and messages that the server sends of its own accord. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually, startLinkedPair, startRedis, type Host, type LinkedPair } from './harness/index.ts';

const PORT = 6379;

async function redis(t: TestContext): Promise<LinkedPair> {
  const pair = await startLinkedPair(t, { redis: PORT });
  await startRedis(pair.server, { port: PORT });
  await pair.ready();
  return pair;
}

/** Redis' own client, on the host given: in the west it comes through the link, in the east it does not. */
async function cli(host: Host, args: readonly string[], input?: string): Promise<string> {
  return host.run(['redis-cli', '-p', String(PORT), ...args], { timeoutMs: 60_000, ...(input === undefined ? {} : { input }) });
}

/** Digest of all data of the server. Its own one is a command of DEBUG, which Redis refuses by default. */
async function digest(server: Host): Promise<string> {
  const script = `
    local keys = redis.call('keys', '*')
    table.sort(keys)
    local digest = ''
    for _, key in ipairs(keys) do digest = redis.sha1hex(digest .. key .. '=' .. redis.call('get', key)) end
    return #keys .. ' ' .. digest`;
  return cli(server, ['eval', script, '0']);
}

test('pipelined commands of many clients are all answered', async (t) => {
  await using pair = await redis(t);
  const { client, server } = pair;
  const sizes = ['-c', '30', '-P', '50', '-n', '20000', '-r', '20000', '-d', '200'];
  const benchmark = ['redis-benchmark', '-p', String(PORT), '-t', 'set,get,incr,lrange_100', '--csv'];
  const said = await client.run([...benchmark, ...sizes], { timeoutMs: 120_000 });
  assert.doesNotMatch(said, /error/i);
  const calls = /cmdstat_set:calls=(\d+).*failed_calls=(\d+)/.exec(await cli(server, ['info', 'commandstats']));
  assert.deepEqual(calls?.slice(1), ['20000', '0']);
});

test('a mass insert through a pipe leaves what the same commands leave without a link', async (t) => {
  await using pair = await redis(t);
  const { client, server } = pair;
  const commands = Array.from({ length: 100_000 }, (_, at) => `SET key:${at} value:${at * 7_919}:${'x'.repeat(at % 100)}\r\n`).join('');
  assert.match(await cli(client, ['--pipe'], commands), /errors: 0, replies: 100000/);
  const there = await digest(server);
  assert.match(there, /^100000 [0-9a-f]{40}\n$/);
  await cli(server, ['flushall']);
  assert.match(await cli(server, ['--pipe'], commands), /errors: 0, replies: 100000/);
  assert.equal(await digest(server), there);
});

for (const [where, how] of [
  ['beyond the link', 'server'],
  ['on the same side of the link', 'client'],
] as const) {
  test(`subscribers hear all messages in their order, published ${where}`, async (t) => {
    await using pair = await redis(t);
    const subscribe = ['redis-cli', '-p', String(PORT), 'subscribe', 'news'];
    const subscribers = await Promise.all([1, 2, 3].map((n) => pair.client.spawn(subscribe, { name: `subscriber-${n}` })));
    await eventually('three subscribers', async () => (await cli(pair.server, ['pubsub', 'numsub', 'news'])).trim() === 'news\n3');
    const messages = Array.from({ length: 50_000 }, (_, at) => `message-${at}`);
    const published = await cli(pair[how], ['--pipe'], messages.map((message) => `PUBLISH news ${message}\r\n`).join(''));
    assert.match(published, /errors: 0, replies: 50000/);
    for (const subscriber of subscribers) {
      await eventually(`${subscriber.name} to hear the last`, () => subscriber.output.includes('message-49999\n'));
      assert.deepEqual(
        subscriber.output.split('\n').filter((line) => line.startsWith('message-')),
        messages,
      );
    }
  });
}

test('a client that waits for a message hears it at once after an idle while', async (t) => {
  await using pair = await redis(t);
  const { client, server } = pair;
  const waiting = client.attempt(['redis-cli', '-p', String(PORT), 'blpop', 'queue', '100'], { timeoutMs: 120_000 });
  await eventually('a blocked client', async () => (await cli(server, ['info', 'clients'])).includes('blocked_clients:1'));
  await cli(server, ['rpush', 'queue', 'work']);
  assert.equal((await waiting).stdout, 'queue\nwork\n');
});
