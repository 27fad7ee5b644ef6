/** Versions side by side, as docs/upgrade.md promises: the bundle of an earlier revision, and the sources. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connector, createNetwork, eventually, linkByToken, listener, manifest, Site, startNginx, startSite } from './harness/index.ts';
import { usePreviousProgram } from './harness/previous-program.ts';

const PAGE = ['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:8080/'];

const { skip, program } = await usePreviousProgram();
/** Options of a Site that decide which program it runs. */
const programs = { old: { program }, new: {} };

describe('an earlier version and this one', { skip }, () => {
  for (const [opens, accepts] of [
    ['old', 'new'],
    ['new', 'old'],
  ] as const)
    test(`link, issue and redeem tokens and carry connections both ways: the ${opens} site opens the link`, async (t) => {
      await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
      const [west, east] = await Promise.all([
        startSite(net.host('west'), {
          ...programs[opens],
          resources: [listener('web', '0.0.0.0', 8080), connector('back', '127.0.0.1', 80)],
        }),
        startSite(net.host('east'), {
          ...programs[accepts],
          access: true,
          resources: [connector('web', '127.0.0.1', 80), listener('back', '0.0.0.0', 8080)],
        }),
      ]);
      for (const { host } of [west, east]) await startNginx(host, { port: 80 });
      await linkByToken(west, east);
      await Promise.all([west.waitFor('Listener', 'web'), east.waitFor('Listener', 'back')]);
      assert.equal(await west.host.run(PAGE), 'hello from east\n');
      assert.equal(await east.host.run(PAGE), 'hello from west\n');
    });

  test('run as routers of one site, where each replaces the other, and back again', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const [client, server] = [net.host('west'), net.host('east')];
    const east = await startSite(server, { access: true, resources: [connector('web', '127.0.0.1', 80)] });
    await startNginx(server, { port: 80 });
    const resources = [manifest('Site', 'west', { ha: true }), listener('web', '0.0.0.0', 8080)];
    const first = await startSite(client, { ...programs.old, resources });
    await linkByToken(first, east);
    await first.waitFor('Listener', 'web');
    const second = new Site(client, { name: 'west', router: 'second', ...programs.new });
    const both = async (): Promise<void> => {
      await eventually('both routers to listen', async () => {
        const counts = await Promise.all([first, second].map((router) => router.metric('earshot_router_listeners_listening')));
        return counts.every((count) => count === 1);
      });
      await eventually(
        'both routers to have a link',
        async () => (await east.metric('earshot_router_links', { direction: 'incoming' })) === 2,
      );
    };
    await second.start();
    await both();
    assert.equal(await client.run(PAGE), 'hello from east\n');

    await first.stop();
    assert.equal(await client.run(PAGE), 'hello from east\n', 'only the new router runs');
    await first.start();
    await both();
    await second.stop();
    assert.equal(await client.run(PAGE), 'hello from east\n', 'only the old router runs, with the state that the new one wrote');
    await first.waitFor('Listener', 'web');
  });

  for (const [runs, commands] of [
    ['old', 'new'],
    ['new', 'old'],
  ] as const)
    test(`work together as program and commands: the ${runs} program runs the site`, async (t) => {
      await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
      const [west, east] = await Promise.all([
        startSite(net.host('west'), { ...programs[runs], access: true }),
        startSite(net.host('east'), programs[runs]),
      ]);
      await startNginx(east.host, { port: 80 });
      const at = (site: Site): Site => new Site(site.host, programs[commands]);
      await linkByToken(at(east), at(west));
      await at(west).earshot(['listener', 'create', 'web', '8080', '--host', '127.0.0.1']);
      await at(east).earshot(['connector', 'create', 'web', '80', '--host', '127.0.0.1']);
      await at(west).earshot(['wait', 'listener/web']);
      assert.equal(await west.host.run(PAGE), 'hello from east\n');
      assert.match(await at(west).earshot(['status']), /Site: +west/);
      assert.match(await at(east).earshot(['link', 'status']), /Ready/);
      assert.match(await at(west).earshot(['network']), /east/);
      await at(west).earshot(['listener', 'delete', 'web']);
      await at(west).earshot(['system', 'reload']);
      await at(east).earshot(['system', 'stop']);
    });
});
