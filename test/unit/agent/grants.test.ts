import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { GRANT_SERVER_BUNDLE, Grants } from '../../../src/agent/grants.ts';
import type { AccessGrant, AccessGrantStatus } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import type { GrantFacts } from '../../../src/site/observe/trust-facts.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { silentLog } from '../support/log-lines.ts';
import { offer } from '../trust/support/grant-server.ts';
import { MemoryBundles, MemoryGrantStore, MemoryLedger } from '../trust/support/memory-stores.ts';
import { makeAuthority } from '../trust/support/site.ts';

const MINUTE = 60_000;
const settings = { host: '127.0.0.1', port: 0, hosts: ['127.0.0.1'] };

function aGrant(name: string, status?: Partial<AccessGrantStatus>, spec: AccessGrant['spec'] = {}): AccessGrant {
  const object = { apiVersion: API_VERSION, kind: 'AccessGrant', metadata: { name }, spec } as const;
  // Only the count and the expiry are read.
  return status === undefined ? object : { ...object, status: status as AccessGrantStatus };
}

/** Grants of a process that has just started. */
async function started(
  t: TestContext,
): Promise<{ readonly store: MemoryGrantStore; ensure(grant: AccessGrant, now?: number): Promise<GrantFacts> }> {
  const authority = makeAuthority();
  const ledger = new MemoryLedger();
  const store = new MemoryGrantStore({ ledger });
  const bundles = new MemoryBundles();
  await bundles.put(issueBundle(authority, GRANT_SERVER_BUNDLE, { subject: 'grant server', hosts: ['127.0.0.1'], server: true }));
  const grants = new Grants({
    stores: { bundles, grants: () => Promise.resolve(store) },
    ledger,
    authority: () => Promise.resolve(authority),
    offer: () => offer,
    log: silentLog,
    onChange: () => {},
  });
  t.after(() => grants[Symbol.asyncDispose]());
  return {
    store,
    ensure: async (grant, now = Date.now()) => {
      const facts = (await grants.ensure([grant], () => false, settings, now)).get(grant.metadata.name ?? '');
      assert.ok(facts);
      return facts;
    },
  };
}

/** Whether the server of a token's URL accepts connections. */
async function isOpen(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const [how] = await Promise.race([once(socket, 'connect').then(() => ['open']), once(socket, 'close').then(() => ['closed'])]).catch(
    () => ['closed'],
  );
  socket.destroy();
  return how === 'open';
}

test('a grant that was used up before a restart does not open the port for tokens', async (t) => {
  const { ensure } = await started(t);
  const expirationTime = new Date(Date.now() + 10 * MINUTE).toISOString();
  const { url, redemptions, expired, problem } = await ensure(aGrant('used', { redemptions: 1, expirationTime }));
  assert.deepEqual({ url, redemptions, expired, problem }, { url: undefined, redemptions: 1, expired: false, problem: undefined });
});

test('the port for tokens stays open after the last redemption, whose answer may be lost, and closes later', async (t) => {
  const { store, ensure } = await started(t);
  const spec = { expirationWindow: '24h' };
  const { url = '', code = '' } = await ensure(aGrant('g', undefined, spec));
  await store.redeem({ grant: 'g', code, siteId: offer.siteId, siteName: 'east', keyHash: 'a'.repeat(64) });
  assert.equal((await ensure(aGrant('g', undefined, spec), Date.now() + 14 * MINUTE)).url, url);
  assert.equal(await isOpen(url), true);
  const { url: later, redemptions } = await ensure(aGrant('g', undefined, spec), Date.now() + 16 * MINUTE);
  assert.deepEqual([later, redemptions, await isOpen(url)], [undefined, 1, false]);
});

test('the port for tokens closes once the only grant has expired, and opens again for another one', async (t) => {
  const { ensure } = await started(t);
  const { url = '' } = await ensure(aGrant('g'));
  assert.equal(await isOpen(url), true);
  const { url: later, expired } = await ensure(aGrant('g'), Date.now() + 16 * MINUTE);
  assert.deepEqual([later, expired, await isOpen(url)], [undefined, true, false]);
  assert.equal(await isOpen((await ensure(aGrant('other'))).url ?? ''), true);
});
