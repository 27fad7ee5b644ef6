import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  failuresOf,
  linkByToken,
  listener,
  startNginx,
  startRedis,
  startRequests,
  startSite,
  startSteady,
  untilRefused,
  type Host,
  type Site,
} from './harness/index.ts';

const PAGE = 'http://127.0.0.1:8080/';
/** Users need a second; a busy machine may take longer. Nothing else would end a connection in that time. */
const AT_ONCE = { timeoutMs: 20_000 };

const resourcesFor = () => [listener('web', '127.0.0.1', 8080), listener('steady', '127.0.0.1', 6379)];

/** Writes a token of `to` and returns its file. */
async function tokenOf(to: Site, ...options: readonly string[]): Promise<string> {
  const file = `${await to.host.folder('token')}/token.yaml`;
  await to.earshot(['token', 'issue', file, ...options]);
  return file;
}

const CURL = ['curl', '-sS', '--max-time', '20', PAGE];
const asks = (host: Host) => host.attempt(CURL);

// Side by side: they wait more than they work.
describe('a site that is revoked', { concurrency: 2 }, () => {
  it('a site that is revoked under load is disconnected at once and for good, without effect on others', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east', 'south'], test: t });
    const [westHost, eastHost, southHost] = [net.host('west'), net.host('east'), net.host('south')];
    await startNginx(eastHost, { port: 80 });
    await startRedis(eastHost, { port: 6379 });
    const [east, west, south] = await Promise.all([
      startSite(eastHost, { access: true, resources: [connector('web', '127.0.0.1', 80), connector('steady', '127.0.0.1', 6379)] }),
      startSite(westHost, { resources: resourcesFor() }),
      startSite(southHost, { resources: resourcesFor() }),
    ]);
    const used = await tokenOf(east, '--redemptions-allowed', '2');
    await west.earshot(['token', 'redeem', used, '--name', 'to-east']);
    await linkByToken(south, east);
    for (const site of [west, south]) for (const name of ['web', 'steady']) await site.waitFor('Listener', name);
    const steady = await startSteady(southHost, 6379);
    const lasting = await westHost.spawn(['redis-cli', '-p', '6379', 'subscribe', 'news'], { name: 'lasting' });
    await eventually('the subscription', async () => (await eastHost.run(['redis-cli', 'pubsub', 'channels'])).includes('news'));
    await using load = await startRequests(southHost, PAGE);
    const wrk = westHost.attempt(['wrk', '-t', '1', '-c', '10', '-d', '6s', PAGE], { timeoutMs: 60_000 });
    await load.next(20);

    assert.match(await east.earshot(['site', 'revoke', 'west']), /Site "west" is revoked/);
    await eventually(
      'the end of what was open',
      async () => !(await eastHost.run(['redis-cli', 'pubsub', 'channels'])).includes('news'),
      AT_ONCE,
    );
    await west.waitFor('Listener', 'web', 'Pending');
    const { message } = await west.waitFor(
      'Link',
      'to-east',
      ({ status, message: words = '' }) => status === 'Error' && /revoked/.test(words),
    );
    assert.match(message ?? '', /has revoked this site/);
    await untilRefused(westHost, CURL);
    assert.deepEqual(failuresOf(await load.next(50)), [], 'others go on');
    await steady.unharmed();
    await lasting.kill();
    await wrk;

    // Not in order: that would wait for connections to end.
    await Promise.all([east.kill9(), west.kill9()]);
    await Promise.all([east.start(), west.start()]);
    await east.waitFor('Site', 'east');
    await west.waitFor('Link', 'to-east', ({ status, message: words = '' }) => status === 'Error' && /revoked/.test(words));
    assert.equal((await asks(westHost)).code, 7);

    // The token that let it in has a redemption left, and a new one is there for the asking.
    for (const token of [used, await tokenOf(east)]) {
      const again = await west.attempt(['token', 'redeem', token, '--name', 'again']);
      assert.equal(again.code, 1, again.stderr);
      assert.match(again.stderr, /site west \([-0-9a-f]+\) is revoked: it cannot redeem tokens until the revocation is lifted/);
      // The command took it out again: as long as the site has not seen that, its name is taken.
      await eventually('the refused token to be gone', async () => (await west.read('AccessToken', 'again')) === undefined);
    }
    // The grant that it used admits no site any more.
    const other = await south.attempt(['token', 'redeem', used, '--name', 'another']);
    assert.match(other.stderr, /used grant \S+ was revoked, and may still have the token/);
    // Its link fell when east was killed, and is up again in its own time.
    await south.waitFor('Listener', 'web');
    assert.deepEqual(failuresOf(await load.next(20)), []);

    await east.earshot(['site', 'unrevoke', 'west']);
    await west.waitFor('Listener', 'web');
    assert.equal((await asks(westHost)).stdout, 'hello from east\n');
  });

  it('a revoked site does not come in by way of a site that still links to it', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'middle', 'east'], test: t });
    const [westHost, middleHost, eastHost] = [net.host('west'), net.host('middle'), net.host('east')];
    await startNginx(eastHost, { port: 80 });
    await startRedis(eastHost, { port: 6379 });
    const [east, middle, west] = await Promise.all([
      startSite(eastHost, { access: true, resources: [connector('web', '127.0.0.1', 80), connector('steady', '127.0.0.1', 6379)] }),
      startSite(middleHost, { access: true, resources: resourcesFor() }),
      startSite(westHost, { resources: resourcesFor() }),
    ]);
    // Its direct link is the dearer one, so that it is out of use; it is what the east knows the site by.
    await linkByToken(west, east, { cost: 50 });
    await linkByToken(west, middle);
    await linkByToken(middle, east);
    for (const site of [west, middle]) for (const name of ['web', 'steady']) await site.waitFor('Listener', name);
    await eventually('the cheaper way', async () => {
      await asks(westHost);
      return (await middle.metric('earshot_router_transit_connections_total')) > 0;
    });
    const lasting = await westHost.spawn(['redis-cli', '-p', '6379', 'subscribe', 'news'], { name: 'lasting' });
    await eventually('the subscription', async () => (await eastHost.run(['redis-cli', 'pubsub', 'channels'])).includes('news'));
    const steady = await startSteady(middleHost, 6379);

    await east.earshot(['site', 'revoke', 'west']);
    await eventually(
      'the end of what came through the middle',
      async () => !(await eastHost.run(['redis-cli', 'pubsub', 'channels'])).includes('news'),
      AT_ONCE,
    );
    // The middle still has its link with the west, whose listener is therefore open; but nothing comes of it.
    assert.equal((await west.status('Listener', 'web'))?.status, 'Ready');
    const { code, stdout } = await asks(westHost);
    assert.notEqual(code, 0);
    assert.equal(stdout, '');
    assert.equal((await asks(middleHost)).stdout, 'hello from east\n');
    await steady.unharmed();
    await lasting.kill();
  });
});
