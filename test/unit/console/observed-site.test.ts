import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { observedSite, readObserved } from '../../../src/console/observed-site.ts';
import { memoryState, memoryWatcher } from './memory-sources.ts';

const [WEST, HUB, EAST] = [1, 2, 3].map((number) => `0a1b2c3d-0000-8000-8000-00000000000${number}`);
const sums = { uptime: 10_000, open: 2, opened: 100, failed: 10, up: 1_000, down: 2_000 };

const answerOf = (...figures: readonly object[]): object => ({ routers: figures.map((each, at) => ({ router: `r${at}`, figures: each })) });
const refusal = (code: string, message: string): object => ({ routers: [{ router: 'r0', code, message }] });

suite('figures of another site', () => {
  test('have rates from two answers of each router, by the clock of the router', () => {
    const before = readObserved(answerOf(sums, sums));
    const now = readObserved(
      answerOf({ ...sums, uptime: 12_000, open: 3, opened: 110, up: 3_000 }, { ...sums, uptime: 14_000, failed: 14 }),
    );
    assert.equal(observedSite(before).figures?.rates, undefined);
    const { figures } = observedSite(now, before);
    assert.deepEqual(figures, { open: 5, rates: { opened: 5, failed: 1, up: 1_000, down: 0 }, missing: 0 });
  });

  for (const [what, later] of [
    ['after a restart', { ...sums, uptime: 50, opened: 1 }],
    ['if a sum is smaller', { ...sums, uptime: 11_000, opened: 99 }],
    ['if no time has passed', { ...sums, opened: 101 }],
  ] as const)
    test(`have no rates ${what}`, () => {
      const { figures } = observedSite(readObserved(answerOf(later)), readObserved(answerOf(sums)));
      assert.deepEqual(figures, { open: 2, missing: 0 });
    });

  test('have finite rates, whatever times and sums a router sends', () => {
    const before = readObserved(answerOf({ ...sums, uptime: 0, opened: 0, failed: 0, up: 0, down: 0 }));
    const most = Number.MAX_SAFE_INTEGER;
    for (const uptime of [1e-300, 1e-6, 1_000]) {
      const now = readObserved(answerOf({ ...sums, uptime, opened: most, failed: most, up: most, down: most }));
      // JSON has no infinite numbers: the page would get null.
      assert.doesNotMatch(JSON.stringify(observedSite(now, before).figures), /null/, `uptime ${uptime}`);
    }
  });

  test('are those of the routers that answered, with the number of the others', () => {
    const routers = readObserved({
      routers: [
        { router: 'r0', figures: { ...sums, eventLoopDelay: 4 } },
        { router: 'r1', code: 'timeout', message: 'late' },
      ],
    });
    assert.deepEqual(observedSite(routers).figures, { open: 2, eventLoopDelay: 4, missing: 1 });
  });

  test('are bounded text, and never throw, whatever a router sends', () => {
    const [router] = readObserved(refusal('x'.repeat(900), `a\n\u202e${'b'.repeat(9_000)}`));
    assert.ok(router !== undefined && 'code' in router && router.code.length <= 63 && router.message.length <= 300);
    assert.equal(readObserved({ routers: Array.from({ length: 100 }, () => ({})) }).length, 16);
    fc.assert(fc.property(fc.jsonValue(), (value) => void observedSite(readObserved({ routers: value }), readObserved(value))));
  });
});

suite('the console', () => {
  test('shows figures of sites that share them, why others have none, and links as their ends report them', async () => {
    const state = memoryState();
    const at = (id: string | undefined, name: string, ...links: readonly (readonly [string | undefined, string])[]): object => ({
      id,
      name,
      namespace: name,
      platform: 'linux',
      version: '1',
      routers: ['r0'],
      links: links.map(([siteId, siteName]) => ({ siteId, siteName, cost: 2 })),
    });
    state.network = [at(WEST, 'west', [HUB, 'hub']), at(HUB, 'hub', [WEST, 'west'], [EAST, 'east']), at(EAST, 'east', [HUB, 'hub'])];
    const answers = new Map<string | undefined, object>([
      [HUB, answerOf({ ...sums, links: [{ site: EAST, state: 'silent', cost: 2, roundTrip: 12.34 }] })],
      [EAST, refusal('not-shared', 'the site does not share them (settings.observe)')],
    ]);
    state.observe = (site) => Promise.resolve(answers.get(site));
    const watcher = memoryWatcher(state);
    await watcher.read();
    state.now += 1_000;
    await watcher.read();
    const [hub, east] = [watcher.site(HUB ?? ''), watcher.site(EAST ?? '')];
    assert.deepEqual([hub?.figures?.open, hub?.noFigures], [2, undefined]);
    assert.deepEqual([east?.figures, east?.noFigures], [undefined, 'the site does not share them (settings.observe)']);
    const between = east?.linkList.find(({ direction }) => direction === 'between');
    assert.deepEqual([between?.state, between?.roundTripMs, between?.cost], ['silent', 12.34, 2]);
    assert.deepEqual(hub?.routerList, [{ name: 'r0', version: '', uptime: 10_000, open: 2 }]);
    assert.equal(watcher.site('none'), undefined);
    assert.equal(watcher.overview().links.down, 0, 'links of other sites are not problems of this one');
  });

  test('shows a link between other sites that is down, if one of them says so', async () => {
    const state = memoryState();
    const id = (name: string): object => ({ id: name, name, namespace: name, platform: 'linux', version: '1', routers: ['r0'], links: [] });
    state.network = [WEST, HUB, EAST].map((name) => id(name ?? ''));
    const links = [
      { site: EAST, state: 'down' },
      { site: WEST, state: 'down' },
      { site: HUB, state: 'up' },
    ];
    state.observe = (site) => Promise.resolve(site === HUB ? answerOf({ ...sums, links }) : undefined);
    const watcher = memoryWatcher(state);
    await watcher.read();
    state.now += 1_000;
    await watcher.read();
    const between = watcher.site(HUB ?? '')?.linkList.filter(({ direction }) => direction === 'between');
    assert.deepEqual(
      between?.map(({ from, to, state: is, cost }) => [from, to, is, cost]),
      [[HUB, EAST, 'down', undefined]],
    );
  });

  test('does not wait for other sites', async () => {
    const state = memoryState();
    state.observe = () => new Promise(() => {});
    const watcher = memoryWatcher(state);
    await watcher.read();
    state.now += 20_000;
    await watcher.read();
    assert.equal(watcher.facts.at, state.now);
    assert.equal(watcher.observed.size, 0);
  });
});
