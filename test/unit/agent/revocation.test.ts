/** All ways to revoke end in IDs and serial numbers that the router refuses: see `revocation-table.test.ts`. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Agent } from '../../../src/agent/agent.ts';
import type { RouterConfig } from '../../../src/router/contract.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { until } from '../platform/support.ts';
import { aSite } from '../site/fixtures.ts';
import { FakeRouter } from './support/fake-router.ts';
import { MemoryPlatform } from './support/memory-platform.ts';

const log = createLogger({ level: 'silent', component: 'test' });
const [EAST, OTHER] = ['873f7632-3838-8275-8aad-abfcf2526e25', 'b2b69931-5078-863f-be7c-731a4583ea47'];

interface Running {
  readonly platform: MemoryPlatform;
  readonly router: FakeRouter;
  /** Revokes, and waits until the platform was notified that the router refuses it. @returns what it refuses then */
  revoke(what: string): Promise<RouterConfig['revoked']>;
}

async function run(t: TestContext): Promise<Running> {
  const platform = new MemoryPlatform();
  const router = new FakeRouter();
  platform.site.put(aSite());
  const agent = new Agent({ platform, router: platform.router, version: '1', log, start: router.start });
  t.after(() => agent[Symbol.asyncDispose]());
  await agent.start();
  const revoke = async (what: string): Promise<RouterConfig['revoked']> => {
    await platform.site.ledger.revoke(what);
    agent.reload();
    await until(() => (platform.confirmed?.sites.length ?? 0) + (platform.confirmed?.serials.length ?? 0) > 0, 'it is confirmed');
    return router.config.revoked;
  };
  return { platform, router, revoke };
}

const entry = (serial: string, siteName: string, siteId?: string) => ({
  siteName,
  serial,
  notAfter: Date.now() + 3_600_000,
  ...(siteId === undefined ? {} : { siteId }),
});

for (const [what, given, sites, serials] of [
  ['a name: all ids and certificates under it', 'east', [EAST, OTHER], ['A1', 'A2', 'B1']],
  ['an id: what that site got', EAST, [EAST], ['A1', 'A2']],
  ['an id to which nothing was issued', '11111111-1111-8111-8111-111111111111', ['11111111-1111-8111-8111-111111111111'], []],
  ['a link for all sites, whose certificate names no site', 'link-west', [], ['C1']],
] as const) {
  test(`by ${what}`, async (t) => {
    const { platform, revoke } = await run(t);
    const { ledger } = platform.site;
    await ledger.record(entry('A1', 'east', EAST));
    await ledger.record(entry('A2', 'east', EAST));
    await ledger.record(entry('B1', 'east', OTHER));
    await ledger.record(entry('C1', 'link-west'));
    assert.deepEqual(await revoke(given), { sites, serials });
  });
}

test('whatever keeps the rest of a pass from its end', async (t) => {
  const { platform, router, revoke } = await run(t);
  platform.onCall = (what) => {
    if (what === 'read') throw new Error('the disk is broken');
  };
  const { listeners } = router.config;
  assert.deepEqual(await revoke(EAST), { sites: [EAST], serials: [] });
  assert.equal(router.config.listeners, listeners, 'the rest is as it was');
});

test('and is not reported earlier', async (t) => {
  const { platform, router, revoke } = await run(t);
  let refused: readonly string[] = [];
  platform.onCall = (what) => {
    if (what === 'confirm') refused = router.config.revoked.sites;
  };
  await revoke(EAST);
  assert.deepEqual(refused, [EAST]);
});
