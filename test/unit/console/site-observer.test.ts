import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { SiteObserver } from '../../../src/console/site-observer.ts';
import { NotReadable } from '../../../src/errors/not-readable.ts';
import { limitTable } from '../../../src/limits/table.ts';

const sums = { uptime: 1_000, open: 1, opened: 0, failed: 0, up: 0, down: 0 };
const shares = { routers: [{ router: 'r', figures: sums }] };
const refuses = { routers: [{ router: 'r', code: 'not-shared', message: 'the site does not share them (settings.observe)' }] };

class Network {
  now = 1_000_000;
  readonly asked: string[] = [];
  /** Number of requests that are open. */
  open = 0;
  answer: (site: string) => Promise<unknown> = () => Promise.resolve(shares);
  readonly observer: SiteObserver;

  constructor(atOnce?: number) {
    this.observer = new SiteObserver({
      ask: async (site) => {
        this.asked.push(site);
        this.open += 1;
        try {
          return await this.answer(site);
        } finally {
          this.open -= 1;
        }
      },
      now: () => this.now,
      random: () => 0.5,
      ...(atOnce === undefined ? {} : { atOnce }),
    });
  }

  /** Lets the time pass, and counts the requests since then. */
  async after(milliseconds: number, sites: readonly string[]): Promise<number> {
    const before = this.asked.length;
    this.now += milliseconds;
    this.observer.tick(sites);
    await setImmediate();
    return this.asked.length - before;
  }
}

suite('the console asks another site for figures', () => {
  test('every 15 seconds while it shares them, and every 2 seconds while a page shows it', async () => {
    const net = new Network();
    assert.equal(await net.after(0, ['a']), 1);
    assert.equal(net.observer.sites.get('a')?.figures?.open, 1);
    assert.equal(await net.after(14_999, ['a']), 0);
    assert.equal(await net.after(1, ['a']), 1);
    net.observer.show('a');
    assert.equal(await net.after(1_999, ['a']), 0);
    assert.equal(await net.after(1, ['a']), 1);
    assert.equal(await net.after(2_000, ['a']), 1);
    // The page is gone.
    assert.equal(await net.after(8_001, ['a']), 0);
  });

  test('every minute while it refuses, and with the new answer as soon as it has one', async () => {
    const net = new Network();
    net.answer = () => Promise.resolve(refuses);
    await net.after(0, ['a']);
    const { figures, noFigures } = net.observer.sites.get('a') ?? {};
    assert.deepEqual([figures, noFigures], [undefined, 'the site does not share them (settings.observe)']);
    assert.equal(await net.after(59_999, ['a']), 0);
    net.answer = () => Promise.resolve(shares);
    assert.equal(await net.after(1, ['a']), 1);
    assert.deepEqual(net.observer.sites.get('a')?.noFigures, undefined);
  });

  test('more and more rarely while the router of this site has no answer, and says why', async () => {
    const net = new Network();
    net.answer = () => Promise.reject(new Error('status 503\n\u202e'));
    await net.after(0, ['a']);
    assert.equal(net.observer.sites.get('a')?.noFigures, 'the router of this site gave no answer: status 503 \\u{202e}');
    let [gap, last] = [0, net.asked.length];
    const gaps: number[] = [];
    while (gaps.length < 6) {
      gap += 1_000;
      await net.after(1_000, ['a']);
      if (net.asked.length === last) continue;
      gaps.push(gap);
      [gap, last] = [0, net.asked.length];
    }
    assert.deepEqual(
      gaps.toSorted((one, other) => one - other),
      gaps,
    );
    assert.equal(gaps.at(-1), gaps.at(-2), 'the pause has an end');
  });

  test('and shows the right that is missing in place of an answer', async () => {
    const net = new Network();
    net.answer = () => Promise.reject(new NotReadable('Figures of other sites are not shown: your user may not get secrets/reader.'));
    await net.after(0, ['a']);
    assert.equal(net.observer.sites.get('a')?.noFigures, 'Figures of other sites are not shown: your user may not get secrets/reader.');
  });

  test('without a delay if a few other sites are silent', async () => {
    const net = new Network();
    const sites = Array.from({ length: 100 }, (_, at) => `site${at}`);
    const silent = new Set(sites.slice(0, limitTable.consoleObservations.value - 1));
    net.answer = (site) => (silent.has(site) ? new Promise(() => {}) : Promise.resolve(shares));
    await net.after(0, sites);
    while (net.observer.sites.size < sites.length - silent.size) await setImmediate();
    assert.equal(net.open, silent.size);
    // A silent site has one request, however often its time comes.
    await net.after(600_000, sites);
    assert.equal(net.asked.filter((site) => site === 'site0').length, 1);
  });

  test('never more than a number at once, and forgets those that are gone', async () => {
    const net = new Network();
    net.answer = () => new Promise(() => {});
    await net.after(
      0,
      Array.from({ length: 2_000 }, (_, at) => `site${at}`),
    );
    assert.equal(net.open, limitTable.consoleObservations.value);
    const few = new Network(2);
    few.answer = net.answer;
    await few.after(0, ['a', 'b', 'c']);
    assert.equal(few.open, 2, 'the platform permits fewer');
    const other = new Network();
    await other.after(0, ['a', 'b']);
    assert.deepEqual([...other.observer.sites.keys()], ['a', 'b']);
    await other.after(1_000, ['b']);
    assert.deepEqual([...other.observer.sites.keys()], ['b']);
  });

  test('up to a number of sites, the nearest first', async () => {
    const net = new Network();
    const most = limitTable.consoleObservedSites.value;
    const sites = Array.from({ length: most + 10 }, (_, at) => `site${at}`);
    await net.after(0, sites);
    while (net.observer.sites.size < most) await setImmediate();
    assert.equal(net.observer.sites.has(`site${most}`), false);
  });
});
