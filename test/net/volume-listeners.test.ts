/** Many listeners at once, and the ports that they take and leave. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  startNginx,
  startRedis,
  startSite,
  type Host,
  type Site,
} from './harness/index.ts';

const COUNT = 200;
const [CLIENT_PORTS, SERVER_PORTS] = [20_000, 21_000];
const NUMBERS = Array.from({ length: COUNT }, (_, at) => at);
const LISTENERS = NUMBERS.map((at) => listener(`service-${at}`, '127.0.0.1', CLIENT_PORTS + at));

interface Sites extends AsyncDisposable {
  readonly west: Site;
  readonly east: Site;
  readonly client: Host;
  readonly server: Host;
}

async function sites(t: TestContext): Promise<Sites> {
  await using stack = new AsyncDisposableStack();
  const net = stack.use(await createNetwork({ hosts: ['west', 'east'], test: t }));
  const [client, server] = [net.host('west'), net.host('east')];
  const resources = NUMBERS.map((at) => connector(`service-${at}`, '127.0.0.1', SERVER_PORTS + at));
  const east = await startSite(server, { access: true, resources });
  const west = await startSite(client);
  await linkByToken(west, east);
  const owned = stack.move();
  return { west, east, client, server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Says which of its ports was asked. */
async function startServices(host: Host, first: number): Promise<void> {
  const listens = NUMBERS.slice(1)
    .map((at) => `listen 127.0.0.1:${first + at};`)
    .join('\n');
  await startNginx(host, { port: first, address: '127.0.0.1', server: `${listens}\nlocation = /port { return 200 "$server_port\\n"; }` });
}

/** Open files of an idle site, without files that it reads or writes at the moment. */
async function descriptorsOf({ process }: Site): Promise<number> {
  let fewest = Infinity;
  let looks = 0;
  return eventually(
    'the number of descriptors to stay',
    async () => {
      const now = await process.descriptors();
      looks = now < fewest ? 0 : looks + 1;
      fewest = Math.min(fewest, now);
      return looks >= 10 && fewest;
    },
    { everyMs: 50 },
  );
}

const listening = async (host: Host, first: number): Promise<number> =>
  (await host.run(['ss', '-Hltn', `sport >= :${first} and sport < :${first + COUNT}`])).split('\n').filter((line) => line !== '').length;

test('200 listeners that come in one go are all ready, lead each to its own server, and free their ports when they go', async (t) => {
  await using all = await sites(t);
  const { west, client, server } = all;
  await startServices(server, SERVER_PORTS);
  const before = await descriptorsOf(west);
  await west.apply(...LISTENERS);
  for (const {
    metadata: { name },
  } of LISTENERS)
    await west.waitFor('Listener', name);
  assert.equal(await listening(client, CLIENT_PORTS), COUNT);
  const said = await client.run(['curl', '-sS', '--max-time', '20', `http://127.0.0.1:[${CLIENT_PORTS}-${CLIENT_PORTS + COUNT - 1}]/port`]);
  assert.deepEqual(
    said.trim().split('\n').map(Number),
    NUMBERS.map((at) => SERVER_PORTS + at),
  );
  const with200 = await west.process.descriptors();
  assert.ok(with200 >= before + COUNT, `${before} descriptors before, ${with200} with the listeners`);
  for (const {
    metadata: { name },
  } of LISTENERS)
    await west.remove('Listener', name);
  await eventually('the ports to be free', async () => (await listening(client, CLIENT_PORTS)) === 0);
  await eventually('the descriptors to be as before', async () => (await west.process.descriptors()) <= before);
  await startServices(client, CLIENT_PORTS);
  await eventually('others to have all ports', async () => (await listening(client, CLIENT_PORTS)) === COUNT);
});

test('200 listeners in one file come and go as one', async (t) => {
  await using all = await sites(t);
  const { west, client, server } = all;
  await startServices(server, SERVER_PORTS);
  await west.write('all.yaml', LISTENERS.map((each) => `---\n${JSON.stringify(each)}\n`).join(''));
  await eventually('all to listen', async () => (await listening(client, CLIENT_PORTS)) === COUNT);
  // The same names at other ports: each has left its old one.
  const moved = NUMBERS.map((at) => listener(`service-${at}`, '127.0.0.1', CLIENT_PORTS + COUNT + at));
  await west.write('all.yaml', moved.map((each) => `---\n${JSON.stringify(each)}\n`).join(''));
  await eventually('all to listen elsewhere', async () => (await listening(client, CLIENT_PORTS + COUNT)) === COUNT);
  assert.equal(await listening(client, CLIENT_PORTS), 0);
  await west.write('all.yaml', '');
  await eventually('none to listen', async () => (await listening(client, CLIENT_PORTS + COUNT)) === 0);
});

test('a port that is taken is an error that names who has it, and when it is free the listener has it by itself', async (t) => {
  await using all = await sites(t);
  const { west, client, server } = all;
  await startServices(server, SERVER_PORTS);
  const holder = await startRedis(client, { port: 9000, address: '127.0.0.1' });
  await west.apply(listener('service-7', '127.0.0.1', 9000), listener('service-8', '127.0.0.1', 9001));
  // On a busy machine it is only a later search that finds who has the port.
  const why = `127.0.0.1:9000 is in use by redis-server (pid ${holder.pid})`;
  await west.waitFor('Listener', 'service-7', ({ status, message = '' }) => status === 'Error' && message.includes(why));
  const page = (port: number): Promise<string> => client.run(['curl', '-sS', '--max-time', '20', `http://127.0.0.1:${port}/port`]);
  await west.waitFor('Listener', 'service-8');
  assert.equal(await page(9001), '21008\n', 'others are not held up');
  await holder.stop();
  await west.waitFor('Listener', 'service-7');
  assert.equal(await page(9000), '21007\n');
  // And the other way round: what the listener gives up, others may have.
  await west.remove('Listener', 'service-7');
  await eventually('port 9000 to be free', async () => !(await client.listens(9000)));
  await startRedis(client, { port: 9000, address: '127.0.0.1' });
});
