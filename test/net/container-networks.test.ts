/** Network namespaces in place of containers: the router of a network shares only the site's directory with the first one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  manifest,
  Site,
  startNginx,
  startSite,
  type Status,
} from './harness/index.ts';

const engine = { EARSHOT_PLATFORM: 'podman' };
const settings = { network: 'apps' };
const says =
  (status: string, message: RegExp) =>
  (found: Status): boolean =>
    found.status === status && message.test(found.message ?? '');

for (const edge of [false, true]) {
  const kind = edge ? 'an edge site' : 'a site';
  test(`containers of a network reach another site and are reached by name through ${kind}, until its router there ends`, async (t) => {
    const segments = { lan: ['west', 'east'], apps: ['apps', 'db', 'spare'] } as const;
    await using net = await createNetwork({ hosts: ['west', 'east', 'apps', 'db', 'spare'], segments, test: t });
    const [there, router, container] = [net.host('east'), net.host('apps'), net.host('db')];
    for (const host of [there, container, net.host('spare')]) await startNginx(host, { port: 80 });
    const east = await startSite(there, { access: true, resources: [connector('web', '127.0.0.1', 80), listener('db', '0.0.0.0', 8081)] });
    const west = new Site(net.host('west'), { env: engine });
    const names = { EARSHOT_ALIASES: 'earshot,web' };
    const apps = new Site(router, {
      name: 'west',
      home: west.home,
      router: 'net-apps',
      args: ['--network', 'apps'],
      env: { ...engine, ...names },
    });
    const page = ['curl', '-sS', '--max-time', '20', 'http://apps:8080/'];
    const back = ['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:8081/'];
    await west.apply(
      manifest('Site', 'west', { edge, settings: { networks: 'apps' } }),
      listener('web', 'web', 8080, { settings }),
      connector('db', 'db', 80, { settings }),
    );

    await t.test('the router of the network starts first, and the other one leads', async () => {
      await apps.start();
      await west.start();
      await linkByToken(west, east);
      await west.waitFor('Listener', 'web');
      await west.waitFor('Connector', 'db');
      await east.waitFor('Listener', 'db');
      assert.match(apps.process.output, /its key yet/);
      assert.match(await west.earshot(['status']), /^Running: +net-apps in the network apps/m);
      assert.match(await west.earshot(['network']), /^west \(podman, /m);
      const dump = `${await west.host.folder('dump')}/dump.tgz`;
      await west.earshot(['debug', 'dump', dump]);
      const metrics = await west.host.run(['tar', '-xzOf', dump, '--wildcards', '*/routers/net-apps/metrics.txt']);
      assert.match(metrics, /^earshot_router_listeners_listening 1$/m);
    });

    await t.test('connections pass both ways', async () => {
      assert.equal(await container.run(page), 'hello from east\n');
      assert.equal(await there.run(back), 'hello from db\n');
      const outside = await net.host('west').attempt(['curl', '-sS', '--max-time', '5', 'http://127.0.0.1:8080/']);
      assert.notEqual(outside.code, 0, 'the listener is in the network only');
    });
    if (edge) return;

    await t.test('a container that is re-created with another address is found', async () => {
      await router.names({ db: [net.host('spare').v4] });
      await eventually('the other container', async () => (await there.run(back)) === 'hello from spare\n');
    });

    await t.test('a new name needs a restart of the router there', async () => {
      await west.apply(listener('other', 'other', 8082, { routingKey: 'web', settings }));
      await west.waitFor('Listener', 'other', says('Pending', /does not have the name other there yet; run/));
    });

    await t.test('a router that is killed makes its resources fail, and only these', async () => {
      await apps.kill9();
      const missing = says('Error', /the router of the network apps does not run/);
      await west.waitFor('Listener', 'web', missing);
      await west.waitFor('Connector', 'db', missing);
      await west.waitFor('Site', 'west', says('Ready', /the router of the network apps does not run/));
      await east.waitFor('Listener', 'db', 'Pending');
      await apps.start();
      await west.waitFor('Listener', 'web');
      await eventually('the page', async () => (await container.run(page)) === 'hello from east\n');
    });

    await t.test('without the first router nothing counts as running', async () => {
      await west.stop();
      await west.waitFor('Listener', 'web', says('Pending', /the namespace west; start it/));
      await west.start();
      await west.waitFor('Listener', 'web');
      assert.equal(await container.run(page), 'hello from east\n');
    });
  });
}
