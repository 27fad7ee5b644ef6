import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import {
  connector,
  createNetwork,
  failuresOf,
  linkByToken,
  listener,
  networkOf,
  startHeldDownload,
  startNginx,
  startRequests,
  startSite,
  type Host,
  type Site,
} from './harness/index.ts';

/** North and south have the same web server each; west, which both link to, has the listener. */
interface Moving extends AsyncDisposable {
  readonly west: Site;
  readonly north: Site;
  readonly south: Site;
  readonly client: Host;
}

const BIG = Buffer.alloc(100_000_000, 'a large page that takes its time\n');
const WEB = connector('web', '127.0.0.1', 80);

async function startMoving(t: TestContext): Promise<Moving> {
  await using stack = new AsyncDisposableStack();
  const net = stack.use(await createNetwork({ hosts: ['west', 'north', 'south'], test: t }));
  const client = net.host('west');
  const [west, north, south] = await Promise.all([
    startSite(client, { access: true, resources: [listener('web', '0.0.0.0', 8080)] }),
    startSite(net.host('north'), { resources: [WEB] }),
    startSite(net.host('south')),
  ]);
  for (const site of [north, south]) {
    await startNginx(site.host, { port: 80, files: { '/big': BIG } });
    await linkByToken(site, west);
  }
  await west.waitFor('Listener', 'web');
  const owned = stack.move();
  return { west, north, south, client, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Waits until a site knows whether another has a connector of the key. */
async function knows(site: Site, of: Site, has: boolean): Promise<void> {
  await site.waitFor('Site', site.name, (status) => {
    const record = networkOf(status).find(({ name }) => name === of.name);
    return record !== undefined && (record.services?.some(({ connectors = [] }) => connectors.length > 0) ?? false) === has;
  });
}

test('a connector that moves to another site, added there before it is removed here, costs no request', async (t) => {
  await using moving = await startMoving(t);
  const { west, north, south, client } = moving;
  const requests = await startRequests(client, 'http://127.0.0.1:8080/', { perSecond: 100 });
  // Ten connections that live on, and one download that is not read on.
  const wrk = client.attempt(['wrk', '-t1', '-c10', '-d8s', '--timeout', '20s', 'http://127.0.0.1:8080/']);
  const download = await startHeldDownload(client, 'http://127.0.0.1:8080/big');
  await requests.next(50);

  await south.apply(WEB);
  await knows(west, south, true);
  await requests.next(50);
  await north.remove('Connector', 'web');
  await knows(west, north, false);
  await requests.next(100);
  assert.deepEqual(failuresOf(requests.results), []);

  const { sha256, stderr } = await download.readOn();
  assert.equal(stderr, '');
  assert.equal(sha256, createHash('sha256').update(BIG).digest('hex'), 'what had begun before came whole');
  const { stdout } = await wrk;
  assert.match(stdout, /requests in/);
  assert.doesNotMatch(stdout, /Socket errors|Non-2xx/, 'connections from before went on');
  assert.equal(await client.run(['curl', '-sS', 'http://127.0.0.1:8080/']), 'hello from south\n');
});

test('removed before it is added elsewhere, it is refused only in between', async (t) => {
  await using moving = await startMoving(t);
  const { west, north, south, client } = moving;
  const requests = await startRequests(client, 'http://127.0.0.1:8080/', { perSecond: 100 });
  await requests.next(50);
  assert.deepEqual(failuresOf(requests.results), []);

  await north.remove('Connector', 'web');
  await west.waitFor('Listener', 'web', 'Pending');
  await requests.next(10);
  await south.apply(WEB);
  await west.waitFor('Listener', 'web');
  assert.deepEqual(failuresOf(await requests.next(100)), [], 'from Ready on');
  const refused = failuresOf(requests.results);
  assert.ok(refused.length > 0);
  assert.deepEqual(
    refused.filter((error) => !/Failed to connect|Connection reset/.test(error)),
    [],
    'at once, and none that waited',
  );
});
