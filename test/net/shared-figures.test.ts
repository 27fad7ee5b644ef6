/** Figures of other sites: a site that shares them, one that does not, and a site of an earlier version on the path. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObservedRouter } from '../../src/router/contract.ts';
import { DEFAULT_ROUTER } from '../../src/platform/linux/layout.ts';
import { askRouter } from '../../src/platform/linux/router-api.ts';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  manifest,
  startNginx,
  startSite,
  type Site,
} from './harness/index.ts';
import { usePreviousProgram } from './harness/previous-program.ts';

const { skip, program } = await usePreviousProgram();

/** Answer of the only router of a site to a router of another site. */
async function observe(from: Site, name: string): Promise<ObservedRouter> {
  const network = (await askRouter(from.layout, DEFAULT_ROUTER, '/v1/network')) as { items: readonly { id: string; name: string }[] };
  const id = network.items.find((site) => site.name === name)?.id ?? assert.fail(`${name} is not reachable`);
  const answer = await askRouter(from.layout, DEFAULT_ROUTER, `/v1/observe?site=${id}`, 'POST', AbortSignal.timeout(10_000));
  const [only, ...others] = (answer as { readonly routers: readonly ObservedRouter[] }).routers;
  assert.deepEqual(others, []);
  return only ?? assert.fail('no router');
}

test('figures come through a site of an earlier version as the setting says, and that site has none', { skip }, async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'middle', 'east'], test: t });
  const [west, middle, east] = await Promise.all([
    startSite(net.host('west'), { resources: [listener('web', '0.0.0.0', 8080)] }),
    startSite(net.host('middle'), { access: true, program }),
    startSite(net.host('east'), { resources: [connector('web', '127.0.0.1', 80)] }),
  ]);
  await startNginx(east.host, { port: 80 });
  await linkByToken(west, middle);
  await linkByToken(east, middle);
  await west.waitFor('Listener', 'web');
  const codeOf = async (name: string): Promise<string> => {
    const observed = await observe(west, name);
    return 'code' in observed ? observed.code : 'figures';
  };
  assert.deepEqual([await codeOf('east'), await codeOf('middle'), await codeOf('west')], ['not-shared', 'no-figures', 'figures']);

  await east.apply(manifest('Site', 'east', { settings: { observe: 'network' } }));
  await eventually('figures of the east', async () => (await codeOf('east')) === 'figures');
  assert.equal(await west.host.run(['curl', '-sS', 'http://127.0.0.1:8080/']), 'hello from east\n');
  const figures = await eventually('a connection in the figures', async () => {
    const observed = await observe(west, 'east');
    return 'figures' in observed && observed.figures.opened === 1 ? observed.figures : undefined;
  });
  assert.ok(figures.up > 0 && figures.down > 0);
  assert.deepEqual(
    figures.links.map(({ state }) => state),
    ['up'],
  );

  await east.apply(manifest('Site', 'east', { settings: { observe: 'none' } }));
  await eventually('a refusal of the east', async () => (await codeOf('east')) === 'not-shared');
});
