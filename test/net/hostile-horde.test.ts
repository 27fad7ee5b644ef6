/** A router that is attacked by a great many at once, at its ports and where it dials; `bench/hostile` measures what others feel of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from './harness/index.ts';
import { ATTACKS, Campaign } from './hostile/campaign.ts';

const SIZE = { cases: 3_000, seconds: 4, seed: 1 };
/** MiB of memory that the router may use. */
const MEMORY = 256;
/** MB of it that it may keep, once all have gone: the heap of a router that was busy, and what lies between things that live on. */
const KEPT = 60;

test('a router continues, serves others and frees all resources under any of these attacks', async (t) => {
  await using campaign = await Campaign.start({ test: t, perSecond: 50, args: ['--memory', `${MEMORY}Mi`] });
  const { east } = campaign;
  const calm = { memory: east.process.memory(), sockets: await sockets() };
  for (const name of ATTACKS) {
    await t.test(name, async (each) => {
      const { result, paced, memory } = await campaign.strike(name, SIZE);
      each.diagnostic(`${JSON.stringify(result)}; memory at most ${Math.round(memory.most)} MB, before all ${Math.round(calm.memory)} MB`);
      assert.ok(Object.keys(result).length > 0, 'the attack took place');
      assert.deepEqual(paced.failures, []);
      assert.ok(paced.kept.length > 0 && paced.fresh.length > 0, 'the client was served meanwhile');
      assert.ok(memory.most < (MEMORY * 1_048_576) / 1e6, 'it keeps within its memory');
      assert.equal(await east.metric('earshot_internal_errors_total'), 0, 'there were no unexpected errors');
    });
  }
  await eventually('their sockets to be gone', async () => (await sockets()) <= calm.sockets + 5);
  await eventually('their memory to be given back', () => east.process.memory() < calm.memory + KEPT);

  /** TCP connections of the router. */
  async function sockets(): Promise<number> {
    const all = await east.host.run(['ss', '-Htnp', 'state', 'connected']);
    return all.split('\n').filter((line) => line.includes(`pid=${east.process.pid},`)).length;
  }
});
