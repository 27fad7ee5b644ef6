import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { handedOut, lookOf, PlayedController, SitesApi, type Death } from '../support/played-sites.ts';
import { stories, type Deed } from './stories.ts';

describe('A controller that is killed between two of its writes', () => {
  for (const [what, deeds] of Object.entries(stories)) {
    test(`leaves ${what} to the next, which comes to the same end`, async () => {
      const start = await standing(deeds.slice(0, -1));
      const last = deeds.at(-1) ?? assert.fail();
      const whole = await standing([last], start);
      const writes = whole.writes.length;
      assert.ok(writes > 0);
      for (let write = 1; write <= writes; write += 1) await assertSameEnd(await dying(last, start, write), whole, `after write ${write}`);
      const before = whole.writes.length;
      await rest(whole);
      assert.deepEqual(whole.writes.slice(before), [], 'one that starts where nothing is to be done writes nothing');
    });
  }
});

/** One controller after the other brings about what is asked for, undisturbed. */
async function standing(deeds: readonly Deed[], from?: SitesApi): Promise<SitesApi> {
  const api = new SitesApi();
  if (from !== undefined) api.startFrom(from);
  for (const deed of deeds) {
    deed(api);
    await rest(api);
  }
  return api;
}

async function dying(deed: Deed, from: SitesApi, death: Death): Promise<SitesApi> {
  const api = new SitesApi();
  api.startFrom(from);
  deed(api);
  await rest(api, death);
  return api;
}

async function assertSameEnd(api: SitesApi, whole: SitesApi, killed: string): Promise<void> {
  const told = handedOut(api);
  await rest(api);
  const now = handedOut(api);
  for (const [what, before] of told) if (now.has(what)) assert.equal(now.get(what), before, `${what}, killed ${killed}`);
  assert.deepEqual(lookOf(api), lookOf(whole), `killed ${killed}`);
}

async function rest(api: SitesApi, death?: Death): Promise<void> {
  await using controller = await PlayedController.start(api, death);
  await controller.lead();
  await controller.settle();
  await controller.land();
  api.collect();
  await controller.settle();
  assert.equal(controller.isDead, death !== undefined);
  assert.deepEqual(controller.failures, []);
}
