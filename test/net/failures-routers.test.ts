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
  Site,
  startNginx,
  startRequests,
  startSite,
} from './harness/index.ts';

test('a site of two routers loses one of them and goes on', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [client, server] = [net.host('west'), net.host('east')];
  const [west, first] = await Promise.all([
    startSite(client, { access: true, resources: [listener('web', '0.0.0.0', 8080), connector('back', '127.0.0.1', 80)] }),
    startSite(server, {
      resources: [
        manifest('Site', 'east', { linkAccess: 'default', ha: true }),
        connector('web', '127.0.0.1', 80),
        listener('back', '0.0.0.0', 8080),
      ],
    }),
  ]);
  for (const host of [client, server]) await startNginx(host, { port: 80 });
  // East has the token, so that each of its routers opens a link of its own.
  await linkByToken(first, west);
  /** Links that have west at an end: one of each router of east. */
  const links = async (count: number): Promise<void> => {
    await eventually(
      `west to have ${count} links`,
      async () => (await west.metric('earshot_router_links', { direction: 'incoming' })) === count,
    );
    await eventually(`west to know ${count + 1} routers`, async () => (await west.metric('earshot_router_routers')) === count + 1);
  };
  await west.waitFor('Listener', 'web');
  await first.waitFor('Listener', 'back');
  const there = await startRequests(client, 'http://127.0.0.1:8080/');
  const back = await startRequests(server, 'http://127.0.0.1:8080/');
  for (const requests of [there, back]) assert.deepEqual(failuresOf(await requests.next(20)), []);
  const second = new Site(server, { name: 'east', router: 'second' });

  await t.test('the second router joins while connections come, and none is refused', async () => {
    await second.start();
    await links(2);
    await eventually('both routers of east to listen', async () => {
      const listening = await Promise.all([first, second].map((router) => router.metric('earshot_router_listeners_listening')));
      return listening.every((count) => count === 1);
    });
    for (const requests of [there, back]) await requests.next(50);
    for (const requests of [there, back]) assert.deepEqual(failuresOf(requests.results), []);
  });

  await t.test('both routers take connections', async () => {
    await eventually('both to have carried some', async () => {
      const carried = await Promise.all([first, second].map((router) => router.metric('earshot_router_connections_opened_total')));
      return carried.every((count) => count > 0);
    });
  });

  await t.test('the leader is killed: service goes on, and the other writes statuses from now on', async () => {
    const marks = [there, back].map(({ results }) => results.length);
    await first.kill9();
    await links(1);
    for (const requests of [there, back]) await requests.next(50);
    for (const [index, requests] of [there, back].entries()) {
      const failures = failuresOf(requests.results.slice(marks[index]));
      // The one that was under way, and one that still went to a port of the process that was ending.
      assert.ok(failures.length <= 2, `what was under way may be lost, but: ${failures.join('\n')}`);
    }
    await second.apply(connector('new', '127.0.0.1', 80));
    await second.waitFor('Connector', 'new', ({ status }) => status !== undefined);
    await second.remove('Connector', 'new');
  });

  await t.test('it comes back and carries its part', async () => {
    const marks = [there, back].map(({ results }) => results.length);
    await first.start();
    await links(2);
    await eventually('it to carry connections', async () => (await first.metric('earshot_router_connections_opened_total')) > 0);
    for (const requests of [there, back]) await requests.next(20);
    for (const [index, requests] of [there, back].entries()) assert.deepEqual(failuresOf(requests.results.slice(marks[index])), []);
  });

  await t.test('then the other is killed, and what came back serves alone', async () => {
    await second.kill9();
    await links(1);
    for (const requests of [there, back]) assert.deepEqual(failuresOf(await requests.next(50)), []);
    await first.apply(connector('newer', '127.0.0.1', 80));
    await first.waitFor('Connector', 'newer', ({ status }) => status !== undefined);
  });
});
