/** Orders of events that a directory does not produce on demand; what files do to a site is tested with them. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ConditionChange } from '../../../src/agent/condition-changes.ts';
import { UNUSED_FOR } from '../../../src/agent/unused-bundles.ts';
import { Agent } from '../../../src/agent/agent.ts';
import type { TlsBundle } from '../../../src/router/contract.ts';
import type { Signing } from '../../../src/agent/ports.ts';
import type { Authority } from '../../../src/trust/contract.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { until } from '../platform/support.ts';
import { logLines, silentLog } from '../support/log-lines.ts';
import { aLink, aListener, aRouterAccess, aSite } from '../site/fixtures.ts';
import { startGranting } from '../trust/support/grant-server.ts';
import { FakeRouter } from './support/fake-router.ts';
import { anAuthority, MemoryPlatform, MemorySite } from './support/memory-platform.ts';

const DAY = 86_400_000;

interface Running {
  readonly agent: Agent;
  readonly router: FakeRouter;
  readonly platform: MemoryPlatform;
  readonly site: MemorySite;
  /** Milliseconds by which the site's clock is ahead. */
  ahead: number;
  /** Brings about a pass, and waits until it has ended. */
  pass(): Promise<void>;
}

async function run(t: TestContext, platform = new MemoryPlatform(), log = silentLog): Promise<Running> {
  const router = new FakeRouter();
  const clock = (): number => Date.now() + running.ahead;
  const agent = new Agent({ platform, router: platform.router, version: '1', log, start: router.start, clock });
  const running: Running = {
    agent,
    router,
    platform,
    site: platform.site,
    ahead: 0,
    pass: async () => {
      const before = platform.count('siblings');
      agent.reload();
      await until(() => platform.count('siblings') > before, 'the pass has come to its end');
      await new Promise(setImmediate);
    },
  };
  platform.site.running.add(platform.router);
  t.after(() => agent[Symbol.asyncDispose]());
  await agent.start();
  return running;
}

function aBundle(authority: Authority, days?: number): TlsBundle {
  return issueBundle(authority, 'mine', { subject: 'web', hosts: ['web'], server: true, ...(days === undefined ? {} : { days }) });
}

test('a reconcile without changes reports nothing and reads only what changed', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), aListener('web'), aRouterAccess('far', { tlsCredentials: 'far', generateTlsCredentials: true }));
  const { router, pass } = await run(t, platform);
  // A new listening port is announced to other sites, which is a change.
  await pass();
  await pass();
  const [applied, written, bundlesWritten] = [router.configs.length, platform.count('write'), platform.count('writeBundle')];
  for (let passes = 0; passes < 3; passes += 1) await pass();
  assert.equal(router.configs.length, applied);
  assert.equal(platform.count('write'), written);
  assert.equal(platform.count('writeBundle'), bundlesWritten);
});

test('a certificate that expires between two reconciles that saw no change is reported', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.userBundles.set('mine', aBundle(anAuthority('my'), 30));
  platform.site.put(aSite(), aListener('web', { tlsCredentials: 'mine' }));
  const running = await run(t, platform);
  const { router, pass } = running;
  assert.doesNotMatch(platform.status('Listener/web')?.message ?? '', /tls\.crt expired/);
  running.ahead = 31 * DAY;
  await pass();
  assert.match(platform.status('Listener/web')?.message ?? '', /tls\.crt expired/);
  assert.equal(router.config.listeners.length, 1, 'clients decide whether they accept the expired certificate');
  running.ahead = 0;
  await pass();
  assert.doesNotMatch(platform.status('Listener/web')?.message ?? '', /tls\.crt expired/, 'the clock was wrong');
});

test('the bundle of a token goes with its last Link, and not while anything cannot be read', async (t) => {
  const platform = new MemoryPlatform();
  const link = aLink('second', { tlsCredentials: 'east' });
  platform.site.put(aSite(), link);
  platform.site.redeemed.set('east', 'mark');
  await platform.site.issued.put({ ...aBundle(anAuthority('theirs')), name: 'east' });
  const running = await run(t, platform);
  const isThere = async (): Promise<boolean> => (await platform.site.issued.get('east')) !== undefined;
  const later = async (): Promise<void> => {
    for (let passes = 0; passes < 2; passes += 1) {
      await running.pass();
      running.ahead += UNUSED_FOR;
    }
    await running.pass();
  };
  await later();
  assert.ok(await isThere(), 'another Link uses it');
  platform.site.objects.delete('Link/second');
  platform.incomplete = true;
  await later();
  assert.ok(await isThere(), 'a Link may be in what cannot be read');
  platform.incomplete = false;
  platform.site.put(aListener('any'));
  await later();
  assert.ok(!(await isThere()));
});

/** Another process signs for the site, as in a cluster. */
class ClusterLike extends MemoryPlatform {
  override readonly signing: Signing = {
    kind: 'elsewhere',
    revocations: () => Promise.resolve({ sites: [], serials: [] }),
    siteAuthority: () => Promise.resolve(undefined),
    renew: () => Promise.reject(new Error('not asked')),
  };
}

for (const [where, Platform] of [
  ['on a machine', MemoryPlatform],
  ['in a cluster', ClusterLike],
] as const) {
  test(`a Link whose certificate ends and cannot be renewed says so while it is Ready, ${where}`, async (t) => {
    const platform = new Platform();
    platform.site.put(aSite(), aLink('east', { tlsCredentials: 'east' }));
    await platform.site.issued.put(issueBundle(anAuthority('theirs'), 'east', { subject: 'west', client: true }));
    const running = await run(t, platform);
    const { router } = running;
    let asked = 0;
    router.links = { 'Link/east': { operational: true } };
    router.onRenew = () => {
      asked += 1;
      return Promise.reject(new Error('the certificate is not on record'));
    };
    const message = (): string => `${platform.status('Link/east')?.status}: ${platform.status('Link/east')?.message}`;
    running.ahead = 25 * DAY;
    for (const times of [1, 2]) {
      await until(async () => {
        await running.pass();
        return asked >= times;
      }, 'it is asked for');
      running.ahead += DAY / 8;
    }
    await until(async () => {
      await running.pass();
      return message().includes('cannot be renewed');
    }, 'it is reported');
    assert.match(
      message(),
      /^Ready: OK; its certificate ends on [-0-9]{10} and cannot be renewed: the certificate is not on record; redeem/,
    );
  });
}

test("the site's own certificate is renewed when its time has come, whatever else has not changed", async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), aRouterAccess('far', { tlsCredentials: 'far', generateTlsCredentials: true }));
  const running = await run(t, platform);
  const before = await running.site.issued.get('far');
  assert.ok(before);
  running.ahead = 25 * DAY;
  await running.pass();
  assert.notEqual((await running.site.issued.get('far'))?.cert, before.cert);
  assert.equal(running.router.config.accesses[0]?.tls.cert, (await running.site.issued.get('far'))?.cert);
});

test('a second Site whose name comes first takes over neither what runs nor its certificates, until the other is gone', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), aRouterAccess('far', { tlsCredentials: 'far', generateTlsCredentials: true }));
  const { site, pass } = await run(t, platform);
  const shown = async () => (await site.issued.list()).bundles.get('far')?.cert;
  await pass();
  const before = await shown();
  assert.ok(before !== undefined);
  site.put(aSite({}, 'alpha'));
  await pass();
  assert.equal(await shown(), before);
  assert.match(platform.status('Site/alpha')?.message ?? '', /already exists in the namespace \(west\)/);
  assert.equal(platform.status('Site/west')?.conditions?.find(({ type }) => type === 'Configured')?.status, 'True');
  site.objects.delete('Site/west');
  await pass();
  assert.equal(platform.status('Site/alpha')?.conditions?.find(({ type }) => type === 'Configured')?.status, 'True');
  assert.notEqual(await shown(), before, 'its own name is in the certificate');
});

test('changes during a pass cause one more pass, for any number of changes', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite());
  const { router, site, agent } = await run(t, platform);
  const reads = platform.count('read');
  const inPass = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  platform.onCall = async (what) => {
    if (what !== 'list') return;
    platform.onCall = () => {};
    inPass.resolve();
    await go.promise;
  };
  agent.reload();
  await inPass.promise;
  for (const port of [8080, 8081, 8082]) site.put(aListener('web', { port }));
  go.resolve();
  await until(() => router.config.listeners[0]?.port === 8082, 'the last change is in use');
  assert.equal(platform.count('read') - reads, 2);
});

test('a router that changes while a pass is under way is reported as it is at the end', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), aListener('web'));
  const { router, agent } = await run(t, platform);
  platform.onCall = (what) => {
    if (what !== 'list') return;
    platform.onCall = () => {};
    router.reach('web');
  };
  agent.reload();
  await until(() => platform.status('Listener/web')?.status === 'Ready', 'the listener is ready');
  router.reach();
  await until(() => platform.status('Listener/web')?.status === 'Pending', 'the listener is pending');
});

test('a link that was down for a moment, in which a pass looked, makes another one', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite());
  const { router, pass } = await run(t, platform);
  const comesUp = async (): Promise<void> => {
    const before = platform.count('siblings');
    router.links = { 'Link/far': { operational: true } };
    router.linksOpened += 1;
    router.changed();
    await until(() => platform.count('siblings') > before, 'a pass has looked at the link');
  };
  await comesUp();
  router.links = { 'Link/far': { operational: false } };
  await pass();
  await comesUp();
});

test('a store that fails once costs one pass, and what runs goes on', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), aListener('web'));
  let failures = 0;
  platform.onCall = (what) => {
    if (what !== 'ledger' || failures > 0) return;
    failures += 1;
    throw new Error('the disk is full');
  };
  const { agent, router, pass } = await run(t, platform);
  assert.match(agent.unready ?? '', /the disk is full/);
  assert.match(platform.stale?.message ?? '', /cannot start: the disk is full/);
  agent.reload();
  await until(() => agent.unready === undefined, 'the site runs');
  platform.onCall = (what) => {
    if (what === 'read') throw new Error('no file can be opened');
  };
  agent.reload();
  await until(() => agent.unready !== undefined, 'the pass has failed');
  assert.equal(router.config.listeners.length, 1);
  platform.onCall = () => {};
  await pass();
  assert.equal(agent.unready, undefined);
});

test('a certificate that cannot be written is reported, and written by the next reconcile', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), aRouterAccess('far', { tlsCredentials: 'far', generateTlsCredentials: true }));
  platform.onCall = (what) => {
    if (what === 'writeBundle') throw new Error('the disk is full');
  };
  const { router, pass } = await run(t, platform);
  assert.deepEqual(router.config.accesses, []);
  assert.match(platform.status('RouterAccess/far')?.message ?? '', /its certificate cannot be issued: the disk is full/);
  platform.onCall = () => {};
  await pass();
  assert.equal(router.config.accesses.length, 1);
});

test('a router that has lost the lease keeps running, writes nothing, and reports again once it leads again', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), aListener('web'));
  const { router, site, pass } = await run(t, platform);
  assert.ok(platform.report);
  site.leader = 'other';
  await pass();
  const written = platform.count('write');
  site.put(aListener('web', { port: 9090 }));
  await until(() => router.config.listeners[0]?.port === 9090, 'the router follows all the same');
  router.reach('web');
  await pass();
  assert.equal(platform.count('write'), written);
  site.leader = platform.router;
  await pass();
  assert.equal(platform.status('Listener/web')?.status, 'Ready');
});

test('the second router of a site waits for the key that the first one makes, and takes over when that has ended', async (t) => {
  const site = new MemorySite();
  site.put(aSite(), aListener('web'));
  site.leader = 'router';
  const second = await run(t, new MemoryPlatform(site, 'second'));
  assert.match(second.agent.unready ?? '', /has not created its key yet/);
  const first = await run(t, new MemoryPlatform(site, 'router'));
  await second.pass();
  assert.equal(second.agent.unready, undefined);
  assert.equal(second.router.config.site.id, first.router.config.site.id);
  assert.equal(second.platform.report, undefined);
  await first.agent[Symbol.asyncDispose]();
  assert.equal(first.platform.stale, undefined, 'the second has the next word');
  await second.pass();
  assert.ok(second.platform.report);
});

test('a router of a site that drains lets another one manage the site before its connections have ended', async (t) => {
  const site = new MemorySite();
  site.put(aSite(), aListener('web'));
  const first = await run(t, new MemoryPlatform(site, 'router'));
  const second = await run(t, new MemoryPlatform(site, 'second'));
  assert.equal(second.platform.report, undefined);
  await first.agent.drain(10);
  await second.pass();
  assert.ok(second.platform.report);
  await first.agent[Symbol.asyncDispose]();
  assert.equal(site.leader, 'second');
});

test('a bundle that stops being consistent keeps its last good state, and is reported a moment later', async (t) => {
  const platform = new MemoryPlatform();
  const authority = anAuthority('my');
  const [first, second] = [aBundle(authority), aBundle(authority)];
  platform.site.userBundles.set('mine', first);
  platform.site.put(aSite(), aListener('web', { tlsCredentials: 'mine' }));
  const running = await run(t, platform);
  const { router, site, pass } = running;
  const { key = '' } = first;
  site.userBundles.set('mine', { ...second, key });
  await pass();
  assert.equal(router.config.listeners[0]?.tls?.cert, first.cert, 'half of it is there');
  assert.notEqual(platform.status('Listener/web')?.status, 'Error');
  running.ahead = 2_000;
  await pass();
  assert.equal(router.config.listeners[0]?.tls?.cert, first.cert, 'it stays torn');
  assert.equal(platform.status('Listener/web')?.status, 'Error');
  site.userBundles.set('mine', second);
  await pass();
  assert.equal(router.config.listeners[0]?.tls?.cert, second.cert);
});

test('each reconcile is logged at debug, with its result and one ID', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.userBundles.set('mine', aBundle(anAuthority('my')));
  platform.site.put(aSite(), aListener('web', { tlsCredentials: 'mine' }));
  const { log, entries } = logLines();
  const { agent, site, pass } = await run(t, platform, log);
  site.userBundles.set('mine', { ...aBundle(anAuthority('my')), key: '' });
  await pass();
  platform.onCall = (what) => {
    if (what === 'read') throw new Error('no file can be opened');
  };
  agent.reload();
  await until(() => entries.some(({ outcome }) => outcome === 'error'), 'the reconcile has failed');
  const ends = entries.filter(({ message }) => message === 'reconcile ended');
  const starts = entries.filter(({ message }) => message === 'reconcile started');
  assert.deepEqual(
    starts.map(({ reconcile }) => reconcile),
    ends.map(({ reconcile }) => reconcile),
  );
  assert.deepEqual([ends[0]?.['queue'], ends[0]?.['key'], ends[0]?.['outcome']], ['agent', 'west', 'success']);
  assert.ok(ends.some(({ outcome, retryAfter }) => outcome === 'requeue' && retryAfter === 500));
  assert.equal(ends.at(-1)?.['reason'], 'no file can be opened');
});

for (const [what, second] of [
  ['one with another key', (good: TlsBundle) => ({ ...good, key: aBundle(anAuthority('my')).key ?? '' })],
  ['garbage', (good: TlsBundle) => ({ ...good, cert: 'garbage' })],
  ['one without a key', ({ name, cert = '' }: TlsBundle) => ({ name, cert })],
  ['one that has ended', () => aBundle(anAuthority('my'), 1 / 86_400)],
] as const) {
  test(`a bundle that is replaced by ${what} goes on as it was, as long as that is good`, async (t) => {
    const platform = new MemoryPlatform();
    const good = aBundle(anAuthority('my'), 30);
    platform.site.userBundles.set('mine', good);
    platform.site.put(aSite(), aListener('web', { tlsCredentials: 'mine' }));
    const running = await run(t, platform);
    const { router, site, pass } = running;
    running.ahead = 3_000;
    site.userBundles.set('mine', second(good));
    await pass();
    running.ahead = 6_000;
    await pass();
    assert.equal(router.config.listeners[0]?.tls?.cert, good.cert);
    const { status, message = '' } = platform.status('Listener/web') ?? {};
    assert.equal(status, 'Error');
    assert.match(message, /Until then the last valid certificate is used, until \d{4}-\d\d-\d\d\.$/);
    running.ahead = 31 * DAY;
    await pass();
    assert.notEqual(router.config.listeners[0]?.tls?.cert, good.cert, 'it has ended');
    running.ahead = 6_000;
    site.userBundles.delete('mine');
    await pass();
    const generated = router.config.listeners[0]?.tls?.cert;
    assert.equal(generated, (await site.issued.get('mine'))?.cert, 'it was taken away on purpose, so the site issues one');
    site.userBundles.set('mine', good);
    await pass();
    assert.equal(router.config.listeners[0]?.tls?.cert, good.cert);
    assert.notEqual(platform.status('Listener/web')?.status, 'Error');
  });
}

test('a site that ends says so, unless another router of it runs', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite());
  const { agent, router } = await run(t, platform);
  await agent.drain(10);
  assert.equal(platform.stale?.reason, 'Stopping');
  assert.equal(router.drained, true);
  await agent[Symbol.asyncDispose]();
  assert.equal(platform.stale, platform.stopped);
  assert.equal(platform.site.leader, undefined);
});

test('a token of a site that is taken away makes no link', async (t) => {
  const asked = Promise.withResolvers<void>();
  const granted = Promise.withResolvers<Authority>();
  await using west = await startGranting({
    authority: () => {
      asked.resolve();
      return granted.promise;
    },
  });
  const { url, code, ca } = await west.issue();
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), { apiVersion: API_VERSION, kind: 'AccessToken', metadata: { name: 'to-west' }, spec: { url, code, ca } });
  const { site, pass } = await run(t, platform);
  await asked.promise;
  site.objects.delete('Site/west');
  await pass();
  granted.resolve(west.authority);
  await until(() => west.server.answered['redeemed'] === 1, 'the other site has answered');
  await pass();
  assert.deepEqual([...site.objects.keys()], ['AccessToken/to-west']);
  assert.deepEqual((await site.issued.list()).bundles.get('to-west'), undefined);
});

test('a configuration that the router could not apply completely is sent to it again', async (t) => {
  const { agent, router, platform, pass } = await run(t);
  platform.site.put(aSite());
  await pass();
  const apply = router.apply.bind(router);
  let tries = 0;
  router.apply = (config) => {
    tries += 1;
    if (tries === 1) throw new Error('the socket cannot be removed');
    apply(config);
  };
  platform.site.put(aListener('web'));
  await until(() => agent.unready !== undefined, 'the pass has failed');
  assert.match(agent.unready ?? '', /the socket cannot be removed/);
  await pass();
  assert.equal(router.config.listeners.length, 1);
  assert.equal(agent.unready, undefined);
});

test('the leader keeps the changes of conditions since its first report', async (t) => {
  const platform = new MemoryPlatform();
  platform.site.put(aSite(), aListener('web'));
  const { agent, router } = await run(t, platform);
  const { latest } = agent.changes.after(0);
  router.reach('web');
  const isMatched = ({ name, type, status, before }: ConditionChange): boolean =>
    name === 'web' && type === 'Matched' && status === 'True' && before === 'False';
  await until(() => agent.changes.after(latest).items.some(isMatched), 'its condition has changed');
});
