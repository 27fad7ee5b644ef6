import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Agent } from '../../../src/agent/agent.ts';
import { follower } from '../../../src/platform/linux/routers.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { until } from '../platform/support.ts';
import { aConnector, aListener, aSite } from '../site/fixtures.ts';
import { FakeRouter } from './support/fake-router.ts';
import { MemoryPlatform, MemorySite } from './support/memory-platform.ts';

const log = createLogger({ level: 'silent', component: 'test' });

class EnginePlatform extends MemoryPlatform {
  override capabilities = new Set(['container-networks' as const]);
}

/** Router of the network apps. */
class NetworkPlatform extends EnginePlatform {
  readonly network = 'apps';
  override readonly leadership = follower;
}

function siteWith(networks: string): MemorySite {
  const site = new MemorySite();
  const settings = { network: 'apps' };
  site.put(
    aSite({ settings: { networks } }),
    aListener('here'),
    aListener('web', { host: 'web', settings }),
    aConnector('db', { host: 'db', settings }),
  );
  return site;
}

async function start(t: TestContext, platform: MemoryPlatform): Promise<{ readonly agent: Agent; readonly router: FakeRouter }> {
  const router = new FakeRouter();
  const agent = new Agent({ platform, router: platform.router, version: '1', log, start: router.start });
  platform.site.running.add(platform.router);
  t.after(() => agent[Symbol.asyncDispose]());
  await agent.start();
  return { agent, router };
}

test('the router of a network waits for the first router, serves its part, and neither leads nor writes a status', async (t) => {
  const site = siteWith('apps');
  const ofNetwork = new NetworkPlatform(site, 'net-apps');
  const { agent, router } = await start(t, ofNetwork);
  assert.match(agent.unready ?? '', /its key yet/);
  const first = await start(t, new EnginePlatform(site));
  agent.reload();
  await until(() => router.configs.length > 0, 'the router of the network to start');
  assert.deepEqual([site.leader, router.config.network, agent.unready], ['router', 'apps', undefined]);
  const names = ({ config: { listeners, connectors } }: FakeRouter): readonly string[] =>
    [...listeners, ...connectors].map(({ name }) => name);
  assert.deepEqual([names(router), names(first.router)], [['Listener/web', 'Connector/db'], ['Listener/here']]);
  await agent[Symbol.asyncDispose]();
  assert.deepEqual([ofNetwork.report, ofNetwork.stale, ofNetwork.count('writeBundle')], [undefined, undefined, 0]);
});

test('the router of a network that the Site does not list is not ready, and says so', async (t) => {
  const site = siteWith('others');
  await start(t, new EnginePlatform(site));
  const { agent, router } = await start(t, new NetworkPlatform(site, 'net-apps'));
  assert.match(agent.unready ?? '', /^the Site does not list the network apps; add it/);
  assert.deepEqual([router.config.listeners, router.config.connectors], [[], []]);
});

test('a listener of a network is ready only while the router there reports that it listens', async (t) => {
  const platform = new EnginePlatform(siteWith('apps'));
  const { agent, router } = await start(t, platform);
  const isSaid = (expected: RegExp, what: string): Promise<void> => {
    const now = (): string => `${platform.status('Listener/web')?.status} ${platform.status('Listener/web')?.message}`;
    return until(() => expected.test(now()), what);
  };
  await isSaid(/^Error the router of the network apps does not run/, 'the missing router');
  platform.networkRouters = [{ network: 'apps', router: 'net-apps', aliases: ['earshot'] }];
  agent.reload();
  await isSaid(/^Pending .*is not linked/, 'the missing link');
  router.siblingParts = { 'net-apps': { 'Listener/web': { listener: { listening: true, reachableKeys: ['web'] } } } };
  router.changed();
  await isSaid(/^Pending .*does not have the name web/, 'the missing name');
  platform.networkRouters = [{ network: 'apps', router: 'net-apps', aliases: ['earshot', 'web'] }];
  agent.reload();
  await isSaid(/^Ready OK/, 'the listener');
  router.siblingParts = undefined;
  router.changed();
  await isSaid(/^Pending .*is not linked/, 'the lost link');
  platform.networkRouters = [];
  agent.reload();
  await isSaid(/^Error .*does not run/, 'the killed router');
});
