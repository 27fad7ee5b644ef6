import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  failuresOf,
  linkByToken,
  listener,
  manifest,
  startNginx,
  startRedis,
  startRequests,
  startSite,
  startSteady,
  type Manifest,
} from './harness/index.ts';

const PORT = '9100';

test('a site of several routers under one supervisor loses one of them and goes on', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [client, server] = [net.host('west'), net.host('east')];
  const siteOf = (routers: number): Manifest => manifest('Site', 'east', { settings: { routers: String(routers) } });
  const [west, east] = await Promise.all([
    startSite(client, { access: true, resources: [listener('web', '0.0.0.0', 8080), connector('back', '127.0.0.1', 80)] }),
    startSite(server, {
      supervised: true,
      args: ['--http-port', PORT, '--drain-timeout', '5s'],
      resources: [siteOf(2), connector('web', '127.0.0.1', 80), listener('back', '0.0.0.0', 8080)],
    }),
  ]);
  for (const host of [client, server]) await startNginx(host, { port: 80 });
  await linkByToken(east, west);
  /** Waits until as many routers of east have a link to west. */
  const links = async (count: number): Promise<void> => {
    await eventually(`west to have ${count} links`, async () => {
      return (await west.metric('earshot_router_links', { direction: 'incoming' })) === count;
    });
    await eventually(`west to know ${count + 1} routers`, async () => (await west.metric('earshot_router_routers')) === count + 1);
  };
  /** Sum of a metric of each router of east, as the supervisor reports it. */
  const metricOf = async (name: string): Promise<ReadonlyMap<string, number>> => {
    const text = await server.run(['curl', '-sS', '--fail', `http://127.0.0.1:${PORT}/metrics`]);
    const sums = new Map<string, number>();
    for (const [, router = '', value] of text.matchAll(new RegExp(`^${name}\\{own_router="([^"]+)".*\\} (\\S+)$`, 'gm')))
      sums.set(router, (sums.get(router) ?? 0) + Number(value));
    return sums;
  };
  const listening = async (count: number): Promise<void> => {
    await eventually(`${count} routers of east to listen`, async () => {
      const states = [...(await metricOf('earshot_router_listeners_listening')).values()];
      return states.length === count && states.every((state) => state === 1);
    });
  };
  await west.waitFor('Listener', 'web');
  await east.waitFor('Listener', 'back');
  await links(2);
  await listening(2);
  const there = await startRequests(client, 'http://127.0.0.1:8080/');
  const back = await startRequests(server, 'http://127.0.0.1:8080/');
  const both = [there, back];

  await t.test('both routers take connections, and none fails', async () => {
    await eventually('both to have carried some', async () => {
      const carried = [...(await metricOf('earshot_router_connections_opened_total')).values()];
      return carried.length === 2 && carried.every((count) => count > 0);
    });
    for (const requests of both) assert.deepEqual(failuresOf(requests.results), []);
  });

  await t.test('commands show one site, with the names of both routers', async () => {
    assert.match(await east.earshot(['site', 'status']), /^east +Ready /m);
    const status = await east.earshot(['system', 'status']);
    for (const router of ['router', 'router-2']) assert.match(status, new RegExp(`${router} \\(process \\d+`));
    assert.equal(await server.run(['curl', '-sS', '--fail', `http://127.0.0.1:${PORT}/readyz`]), 'ok\n');
  });

  for (const router of ['router', 'router-2']) {
    await t.test(`${router} is killed: the other carries on, and it returns`, async () => {
      const marks = both.map(({ results }) => results.length);
      const pid = await east.pidOf(router);
      await server.run(['kill', '-9', String(pid)]);
      await links(1);
      for (const requests of both) await requests.next(50);
      for (const [index, requests] of both.entries()) {
        const failures = failuresOf(requests.results.slice(marks[index]));
        // The one that was under way, and one that still went to a port of the process that was ending.
        assert.ok(failures.length <= 2, `what was under way may be lost, but: ${failures.join('\n')}`);
      }
      await links(2);
      await listening(2);
      assert.notEqual(await east.pidOf(router), pid);
      const after = both.map(({ results }) => results.length);
      for (const requests of both) await requests.next(20);
      for (const [index, requests] of both.entries()) assert.deepEqual(failuresOf(requests.results.slice(after[index])), []);
    });
  }

  await t.test('the setting changes while connections come, and none fails', async () => {
    const marks = both.map(({ results }) => results.length);
    for (const count of [3, 1, 2]) {
      await east.apply(siteOf(count));
      await links(count);
      await listening(count);
      for (const requests of both) await requests.next(20);
    }
    for (const [index, requests] of both.entries()) assert.deepEqual(failuresOf(requests.results.slice(marks[index])), []);
  });

  await t.test('an invalid setting is reported in the status, and changes no router', async () => {
    const pids = new Map<string, number>();
    for (const router of ['router', 'router-2']) pids.set(router, await east.pidOf(router));
    await east.apply(manifest('Site', 'east', { settings: { routers: 'many' } }));
    const { message } = await east.waitFor('Site', 'east', ({ message: said }) => said?.includes('settings.routers') === true);
    assert.match(message ?? '', /settings\.routers: "many" is not auto or a whole number/);
    await east.apply(siteOf(2));
    await links(2);
    await listening(2);
    for (const router of ['router', 'router-2']) assert.equal(await east.pidOf(router), pids.get(router));
  });

  await t.test('SIGTERM ends all routers, with open connections first', async () => {
    await east.stop();
    assert.match((await east.attempt(['system', 'status'])).stdout, /Running: +nothing/);
    await links(0);
  });
});

test('a reload while a router starts does not end it', async (t) => {
  await using net = await createNetwork({ hosts: ['east'], test: t });
  const host = net.host('east');
  const siteOf = (routers: string): Manifest => manifest('Site', 'east', { settings: { routers } });
  const site = await startSite(host, { supervised: true, resources: [siteOf('2')] });
  await site.apply(siteOf('3'));
  await eventually('router-3 to run', async () => {
    await host.run(['kill', '-HUP', String(site.process.pid)]);
    return (await site.pidOf('router-3').catch(() => undefined)) !== undefined;
  });
  assert.doesNotMatch(site.process.output, /ended by itself/);
  await site.stop();
});

test('a supervisor that starts after a killed one serves at once, while connections of the old routers go on', async (t) => {
  await using net = await createNetwork({ hosts: ['east'], test: t });
  const host = net.host('east');
  const site = await startSite(host, {
    supervised: true,
    args: ['--http-port', PORT, '--drain-timeout', '10m'],
    resources: [
      manifest('Site', 'east', { settings: { routers: '2' } }),
      connector('web', '127.0.0.1', 80),
      listener('web', '0.0.0.0', 8080),
      connector('cache', '127.0.0.1', 6379),
      listener('cache', '127.0.0.1', 6380),
    ],
  });
  await Promise.all([startNginx(host, { port: 80 }), startRedis(host, { port: 6379 })]);
  for (const name of ['web', 'cache']) await site.waitFor('Listener', name);
  const answers = async (): Promise<boolean> => (await host.attempt(['curl', '-sS', '--fail', 'http://127.0.0.1:8080/'])).code === 0;
  await eventually('an answer', answers);
  const steady = await startSteady(host, 6380);
  await site.kill9();
  await site.start();
  await eventually('an answer after the restart', answers);
  await site.apply(connector('new', '127.0.0.1', 80));
  await site.waitFor('Connector', 'new', ({ status }) => status !== undefined);
  // The connection lives in a router of the killed supervisor, which drains.
  await steady.unharmed();
});

test('a site that runs one router gets a second one by its setting, and loses it again', async (t) => {
  await using net = await createNetwork({ hosts: ['east'], test: t });
  const host = net.host('east');
  const siteOf = (routers: string): Manifest => manifest('Site', 'east', { settings: { routers } });
  const site = await startSite(host, {
    supervised: true,
    args: ['--http-port', PORT],
    resources: [siteOf('1'), connector('web', '127.0.0.1', 80), listener('web', '0.0.0.0', 8080)],
  });
  await startNginx(host, { port: 80 });
  await site.waitFor('Listener', 'web');
  const first = await site.pidOf('router');
  assert.equal(first, site.process.pid);
  const requests = await startRequests(host, 'http://127.0.0.1:8080/');
  await requests.next(20);
  const metrics = (): Promise<string> => host.run(['curl', '-sS', '--fail', `http://127.0.0.1:${PORT}/metrics`]);
  const listening = async (routers: readonly string[]): Promise<void> => {
    await eventually(`${routers.join()} to listen`, async () => {
      const text = await metrics();
      return routers.every((router) => text.includes(`earshot_router_listeners_listening{own_router="${router}"} 1\n`));
    });
  };
  await site.apply(siteOf('2'));
  await listening(['router', 'router-2']);
  // The port was closed for a moment to be shared. From now on no connection fails.
  assert.deepEqual(failuresOf(await requests.next(20)), []);
  const second = await site.pidOf('router-2');
  await host.run(['kill', '-9', String(second)]);
  await eventually('another process to run router-2', async () => (await site.pidOf('router-2')) !== second);
  await listening(['router', 'router-2']);
  const mark = requests.results.length;
  await site.apply(siteOf('1'));
  await eventually('one router to remain', async () => !(await metrics()).includes('own_router="router-2"'));
  await requests.next(20);
  assert.deepEqual(failuresOf(requests.results.slice(mark)), []);
  assert.equal(await site.pidOf('router'), first);
  await site.earshot(['system', 'stop']);
});
