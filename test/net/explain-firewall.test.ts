/** A firewall between two real sites, as the explanations at both of them show it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Explanation } from '../../src/explain/step.ts';
import { eventually, startLinkedPair, startNginx, type Site } from './harness/index.ts';
import { explain, fails } from './harness/explanations.ts';

const PORT = 7100;

/** Name of the site's only Link. */
async function linkOf(site: Site): Promise<string> {
  const { items } = JSON.parse(await site.earshot(['link', 'status', '-o', 'json']));
  return items[0].metadata.name;
}

test('an explanation names a firewall that drops packets, at both sites, and works again once it is gone', async (t) => {
  await using pair = await startLinkedPair(t, { web: PORT });
  const { west, east, client, server } = pair;
  await startNginx(server, { port: PORT });
  await west.waitFor('Listener', 'web');
  const { code, explanation } = await explain(west, 'listener', 'web');
  assert.deepEqual([code, explanation.verdict], [0, 'pass'], JSON.stringify(explanation.steps));

  const probed = JSON.parse((await west.attempt(['explain', 'listener', 'web', '--probe', '-o', 'json'])).stdout) as Explanation;
  assert.deepEqual(
    probed.steps.filter(({ id }) => id === 'listener.hops' || id === 'listener.server').map(({ state }) => state),
    ['pass', 'pass'],
  );

  for (const address of [server.v4, server.v6]) await client.drop(address);
  await fails(t, west, `link ${await linkOf(west)}`, 'link.live', 'silent', /silent since/);
  await fails(t, west, 'listener web', 'listener.hop', 'silent', /silent since/);
  await fails(t, east, 'site east', 'site.incoming', 'silent', /link from site west is silent since .*at west/);
  await client.heal();
  await eventually('the listener to work again', async () => (await explain(west, 'listener', 'web')).code === 0);
});
