/** Routers of container networks, in containers: the names of containers resolve, for Connectors and for clients of Listeners. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { connector, createNetwork, eventually, linkByToken, listener, manifest, startNginx, startSite } from './harness/index.ts';
import { Engine, noEngine } from './harness/engine.ts';

const skip = noEngine ?? false;
const inNetwork = { settings: { network: 'apps' } };
const server = (words: string): string => `require('http').createServer((_, answer) => answer.end('${words}')).listen(8000)`;
const get = (url: string): string => `fetch('${url}').then((answer) => answer.text()).then(console.log)`;

test('containers of a network are servers and clients of the site by their names', { skip }, async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [client, other] = [net.host('west'), net.host('east')];
  await startNginx(other, { port: 80 });
  const east = await startSite(other, { access: true, resources: [connector('web', '127.0.0.1', 80), listener('db', '0.0.0.0', 9000)] });
  await using engine = await Engine.start(client);
  const west = engine.site('west');
  await west.apply(
    manifest('Site', 'west', { settings: { networks: 'apps' } }),
    connector('db', 'db', 8000, inNetwork),
    listener('web', 'web', 8080, inNetwork),
    listener('bridge', 'bridge', 8081, { settings: { network: 'podman' } }),
  );

  const missing = await west.attempt(['system', 'install', '--platform', 'podman']);
  assert.equal(missing.code, 4);
  assert.match(missing.stderr, /The network apps does not exist in podman\. Create it with `podman network create apps`/);
  await engine.run(['network', 'create', 'apps']);
  await engine.script('db', 'apps', server('one'));
  await west.earshot(['system', 'install', '--platform', 'podman']);
  assert.deepEqual((await engine.run(['ps', '--format', '{{.Names}}'])).trim().split('\n').sort(), [
    'db',
    'west-skupper-router',
    'west-skupper-router-apps',
  ]);
  await linkByToken(west, east);

  await t.test('the default bridge, which has no names, is refused with advice', async () => {
    const { message } = await west.waitFor('Listener', 'bridge', 'Error');
    assert.match(message ?? '', /containers of podman have no names in DNS; create a network/);
  });

  await t.test('a Connector reaches a container by name, also a recreated one with another address', async () => {
    await west.waitFor('Connector', 'db');
    await east.waitFor('Listener', 'db');
    const page = ['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:9000/'];
    assert.equal(await other.run(page), 'one');
    await engine.run(['rm', '--force', '--time', '0', 'db']);
    // The address of the first is taken, so that the second has another.
    await engine.script('guest', 'apps', 'setInterval(() => {}, 1000)');
    await engine.script('db', 'apps', server('two'));
    await eventually('the recreated server to answer', async () => (await other.run(page)) === 'two');
  });

  await t.test('clients in the network reach a Listener by its host and by earshot', async () => {
    await west.waitFor('Listener', 'web');
    for (const host of ['web', 'earshot']) assert.equal(await engine.evaluate('apps', get(`http://${host}:8080/`)), 'hello from east\n\n');
    assert.equal(await client.listens(8080), false);
  });

  await t.test('a new name needs a new container, which system start creates', async () => {
    await west.apply(listener('more', 'more', 8082, { routingKey: 'web', ...inNetwork }));
    const advice = /does not have the name more there yet; run `earshot -n west system start`/;
    await west.waitFor('Listener', 'more', ({ status, message }) => status === 'Pending' && advice.test(message ?? ''));
    const before = await engine.run(['inspect', '--format', '{{.Id}}', 'west-skupper-router']);
    await west.earshot(['system', 'start']);
    await west.waitFor('Listener', 'more');
    assert.equal(await engine.evaluate('apps', get('http://more:8082/')), 'hello from east\n\n');
    assert.equal(await engine.run(['inspect', '--format', '{{.Id}}', 'west-skupper-router']), before, 'the other container goes on');
  });

  await t.test('a router of a network uses little memory when it is new', async (t2) => {
    await engine.run(['restart', '--time', '5', 'west-skupper-router-apps']);
    await west.waitFor('Listener', 'web');
    const pid = (await engine.run(['inspect', '--format', '{{.State.Pid}}', 'west-skupper-router-apps'])).trim();
    const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
    t2.diagnostic(`resident memory of the network's router: ${Math.round(kilobytes / 1024)} MB`);
    assert.ok(kilobytes > 0);
  });

  await t.test('the status says which network has no router', async () => {
    await engine.run(['kill', '--signal', 'KILL', 'west-skupper-router-apps']);
    const { message } = await west.waitFor('Listener', 'web', ({ status }) => status !== 'Ready');
    assert.match(message ?? '', /router of the network apps/);
  });

  await t.test('a network that the Site no longer lists loses its router', async () => {
    await west.apply(manifest('Site', 'west'));
    await west.earshot(['system', 'start']);
    assert.deepEqual(
      (await engine.run(['ps', '--all', '--filter', 'label=application=skupper-v2', '--format', '{{.Names}}'])).trim(),
      'west-skupper-router',
    );
  });
});
