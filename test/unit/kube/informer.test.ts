import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import { ApiError, TransportError } from '../../../src/kube/errors.ts';
import { cacheUntil } from '../../../src/kube/watch/cache-until.ts';
import { resource } from '../../../src/kube/resource.ts';
import type { Cache, Change, InformerOptions, InformerProblem, StartInformer } from '../../../src/kube/contract.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { startInformer, type Recovery } from '../../../src/kube/watch/informer.ts';
import { object, Scripted } from './scripted.ts';
import { eventually } from '../../harness/wait.ts';

interface Thing extends KubeObject {
  readonly spec?: unknown;
}

const things = resource<Thing>('test/v1', 'Thing', 'things', 'cluster');
const cut = new TransportError('kube-cut', 'cut', { sent: true, answered: true });
const apiError = (status: number, reason: string, more: object = {}): ApiError =>
  new ApiError('watch things', { status, reason, message: 'no', ...more });
const gone = apiError(410, 'Expired');

// The other rooms are written against the contract.
startInformer satisfies StartInformer;

/** An informer whose retries come at once, against a server played by the test. */
class Running implements Disposable {
  readonly server = new Scripted();
  readonly stop = new AbortController();
  readonly troubles: InformerProblem[] = [];
  readonly changes: string[] = [];
  readonly cache: Cache<Thing>;

  constructor(options: Partial<InformerOptions<Thing, Thing>> = {}, recovery: Recovery = { backoff: { first: 1, max: 1 } }) {
    this.cache = startInformer<Thing>(
      this.server,
      things,
      { signal: this.stop.signal, onProblem: (trouble) => this.troubles.push(trouble), ...options },
      recovery,
    );
    this.cache.onChange((change) => this.changes.push(described(change)));
  }

  /** Plays the first watch-list, with these objects. */
  async synced(...objects: readonly KubeObject[]): ReturnType<Scripted['nextWatch']> {
    const watch = await this.server.nextWatch();
    watch.send('ADDED', ...objects);
    watch.bookmark(10, true);
    await this.cache.synced;
    return watch;
  }

  get names(): readonly string[] {
    return Array.from(this.cache.values(), ({ metadata }) => metadata.name ?? '').sort();
  }

  /** The changes since the last call. */
  take(): readonly string[] {
    return this.changes.splice(0);
  }

  [Symbol.dispose](): void {
    this.stop.abort(new Error('the test is over'));
  }
}

const described = ({ type, object: { metadata }, previous }: Change<KubeObject>): string =>
  `${type} ${metadata.name} ${metadata.resourceVersion}${previous === undefined ? '' : ` was ${previous.metadata.resourceVersion}`}`;

describe('an informer: the first list', () => {
  it('streams it where the server can, and is synced only by the closing bookmark', async () => {
    using informer = new Running();
    const watch = await informer.server.nextWatch();
    assert.deepEqual(watch.from, { initial: true });
    watch.send('ADDED', object('a', 1), object('b', 2));
    watch.bookmark(9);
    await turn();
    assert.deepEqual([informer.cache.isSynced, informer.cache.size, informer.changes.length], [false, 0, 0]);
    watch.bookmark(10, true);
    await informer.cache.synced;
    assert.deepEqual(informer.take(), ['added a 1', 'added b 2']);
    assert.equal(informer.server.pages, 0);
  });

  it('reads pages where watch-list is refused, and then watches from the list', async () => {
    using informer = new Running({ namespace: 'n', labelSelector: 'a=b' });
    (await informer.server.nextWatch()).fail(apiError(422, 'Invalid'));
    const first = await informer.server.nextPage();
    assert.deepEqual([first.selection, first.continue], [{ namespace: 'n', labelSelector: 'a=b' }, undefined]);
    first.answer({ items: [object('a', 1)], resourceVersion: '20', continue: 'more' });
    const second = await informer.server.nextPage();
    assert.equal(second.continue, 'more');
    assert.equal(informer.cache.isSynced, false);
    second.answer({ items: [object('b', 2)], resourceVersion: '20' });
    await informer.cache.synced;
    assert.deepEqual(informer.names, ['a', 'b']);
    assert.deepEqual((await informer.server.nextWatch()).from, { after: '20' });
  });

  it('reads pages again from the first where the continue token expired', async () => {
    using informer = new Running();
    (await informer.server.nextWatch()).fail(apiError(422, 'Invalid'));
    (await informer.server.nextPage()).answer({ items: [object('a', 1), object('b', 2)], resourceVersion: '20', continue: 'old' });
    (await informer.server.nextPage()).fail(gone);
    const again = await informer.server.nextPage();
    assert.equal(again.continue, undefined);
    again.answer({ items: [object('b', 2)], resourceVersion: '30' });
    await informer.cache.synced;
    assert.deepEqual(informer.names, ['b']);
  });

  it('asks for the same page again after another failure', async () => {
    using informer = new Running();
    (await informer.server.nextWatch()).fail(apiError(422, 'Invalid'));
    (await informer.server.nextPage()).answer({ items: [object('a', 1)], resourceVersion: '20', continue: 'more' });
    (await informer.server.nextPage()).fail(cut);
    const again = await informer.server.nextPage();
    assert.equal(again.continue, 'more');
    again.answer({ items: [object('b', 2)], resourceVersion: '20' });
    await informer.cache.synced;
    assert.deepEqual(informer.names, ['a', 'b']);
  });

  it('restarts, without the partial list, when the stream is cut', async () => {
    using informer = new Running();
    const half = await informer.server.nextWatch();
    half.send('ADDED', object('a', 1));
    half.fail(cut);
    const whole = await informer.server.nextWatch();
    assert.deepEqual(whole.from, { initial: true });
    whole.send('ADDED', object('b', 2));
    whole.bookmark(10, true);
    await informer.cache.synced;
    assert.deepEqual(informer.names, ['b']);
  });

  it('goes on with pages where the server ends the stream without its closing bookmark', async () => {
    using informer = new Running();
    (await informer.server.nextWatch()).end();
    (await informer.server.nextPage()).answer({ items: [], resourceVersion: '1' });
    await informer.cache.synced;
  });

  it('goes on with pages where the closing bookmark does not come within a minute', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    using informer = new Running();
    const stream = await informer.server.nextWatch();
    stream.send('ADDED', object('a', 1));
    t.mock.timers.tick(60_000);
    await eventually('the informer sees it', () => informer.troubles.length === 1);
    t.mock.timers.tick(1);
    (await informer.server.nextPage()).answer({ items: [object('b', 2)], resourceVersion: '20' });
    await informer.cache.synced;
    assert.deepEqual(informer.names, ['b']);
  });

  it('does not end a watch a minute after its list was whole', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    using informer = new Running();
    const watch = await informer.synced();
    t.mock.timers.tick(600_000);
    watch.send('ADDED', object('a', 11));
    assert.deepEqual([watch.options.signal?.aborted, informer.names, informer.troubles], [false, ['a'], []]);
  });

  it('waits for a kind or a right that is not there yet', async () => {
    using informer = new Running();
    (await informer.server.nextWatch()).fail(apiError(404, ''));
    (await informer.server.nextWatch()).fail(apiError(403, 'Forbidden'));
    await informer.synced(object('a', 1));
    assert.deepEqual(
      informer.troubles.map(({ kind }) => kind),
      ['relist', 'relist'],
    );
  });

  it('that never comes rejects synced when the informer is stopped, and only then', async () => {
    const informer = new Running();
    await informer.server.nextWatch();
    informer.stop.abort(new Error('stop'));
    await assert.rejects(informer.cache.synced, { code: 'kube-stopped' });
  });
});

describe('an informer: watching', () => {
  it('reports each change after the cache holds it', async () => {
    using informer = new Running();
    const watch = await informer.synced(object('a', 1));
    const seen: unknown[] = [];
    informer.cache.onChange(({ object: { metadata } }) => seen.push(informer.cache.get(metadata.name ?? '')?.metadata.resourceVersion));
    informer.take();
    watch.send('MODIFIED', object('a', 11));
    watch.send('ADDED', object('b', 12));
    watch.send('DELETED', object('a', 13));
    assert.deepEqual(informer.take(), ['modified a 11 was 1', 'added b 12', 'deleted a 13']);
    assert.deepEqual(seen, ['11', '12', undefined]);
  });

  it('goes on from the last object or bookmark after a cut, without a list', async () => {
    using informer = new Running();
    const first = await informer.synced(object('a', 1));
    first.send('MODIFIED', object('a', 11));
    first.fail(cut);
    const second = await informer.server.nextWatch();
    assert.deepEqual(second.from, { after: '11' });
    second.bookmark(15);
    second.fail(cut);
    const third = await informer.server.nextWatch();
    assert.deepEqual(third.from, { after: '15' });
    assert.deepEqual(
      informer.troubles.map(({ kind, error }) => [kind, error]),
      [
        ['resume', cut],
        ['resume', cut],
      ],
    );
  });

  it('goes on from the same point when the server refuses for now', async () => {
    using informer = new Running();
    (await informer.synced()).fail(apiError(500, 'InternalError'));
    assert.deepEqual((await informer.server.nextWatch()).from, { after: '10' });
  });

  for (const [what, error] of [
    ['is gone (410)', gone],
    ['lies beyond what the server holds', apiError(504, 'Timeout', { causes: ['ResourceVersionTooLarge'] })],
  ] as const) {
    it(`lists again if its resource version ${what}, and reports only differences`, async () => {
      using informer = new Running();
      (await informer.synced(object('same', 1), object('changed', 2), object('gone', 3), object('remade', 4))).fail(error);
      informer.take();
      const again = await informer.server.nextWatch();
      assert.deepEqual(again.from, { initial: true });
      again.send('ADDED', object('same', 1), object('changed', 12), object('new', 13), object('remade', 14, undefined, 'another'));
      assert.deepEqual(informer.take(), []);
      assert.deepEqual(informer.names, ['changed', 'gone', 'remade', 'same']);
      again.bookmark(20, true);
      const told = ['deleted gone 3', 'modified changed 12 was 2', 'added new 13', 'deleted remade 4', 'added remade 14'];
      assert.deepEqual(informer.take(), told);
    });
  }

  it('keeps the very objects of a list that brings nothing new', async () => {
    using informer = new Running();
    (await informer.synced(object('a', 1))).fail(gone);
    informer.take();
    const before = informer.cache.get('a');
    const again = await informer.server.nextWatch();
    again.send('ADDED', object('a', 1));
    again.bookmark(20, true);
    assert.deepEqual(informer.take(), []);
    assert.equal(informer.cache.get('a'), before);
  });

  it('stays synced and readable while it lists again', async () => {
    using informer = new Running();
    (await informer.synced(object('a', 1))).fail(gone);
    await informer.server.nextWatch();
    assert.deepEqual([informer.cache.isSynced, informer.names], [true, ['a']]);
  });

  it('waits longer after each failure, up to a bound, and no more than a little once a watch has lasted', async (t) => {
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    using informer = new Running({}, { backoff: { first: 1, max: 4 }, random: () => 0 });
    (await informer.synced()).fail(cut);
    for (let i = 0; i < 3; i++) (await informer.server.nextWatch()).fail(cut);
    const lasting = await informer.server.nextWatch();
    now += 10_000;
    lasting.fail(cut);
    await informer.server.nextWatch();
    assert.deepEqual(
      informer.troubles.map(({ delay }) => delay),
      [1, 2, 4, 4, 1],
    );
  });

  it('waits as long as the server asks', async () => {
    using informer = new Running();
    (await informer.synced()).fail(apiError(429, 'TooManyRequests', { retryAfterSeconds: 0.02 }));
    await informer.server.nextWatch();
    assert.deepEqual(
      informer.troubles.map(({ delay }) => delay),
      [20],
    );
  });

  it('takes up a watch that ended in good order after its time at once, and one that ended early with a pause', async (t) => {
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    using informer = new Running();
    const first = await informer.synced();
    now += 300_000;
    first.end();
    (await informer.server.nextWatch()).end();
    await informer.server.nextWatch();
    assert.deepEqual(
      informer.troubles.map(({ kind }) => kind),
      ['resume'],
    );
  });

  it('asks the server for an end within five to ten minutes', async () => {
    using informer = new Running();
    const { options } = await informer.server.nextWatch();
    assert(options.timeoutSeconds >= 300 && options.timeoutSeconds <= 600);
  });

  it('ends when its client is closed', async () => {
    using informer = new Running();
    const closed = new TransportError('kube-closed', 'closed', { sent: false });
    (await informer.server.nextWatch()).fail(closed);
    await assert.rejects(informer.cache.synced, { code: 'kube-stopped' });
    assert.deepEqual([informer.server.watches, informer.troubles], [1, []]);
  });

  it('ends with its signal, and asks nothing more', async () => {
    const informer = new Running();
    await informer.synced();
    informer.stop.abort(new Error('stop'));
    await turn();
    await turn();
    assert.equal(informer.server.watches, 1);
    assert.deepEqual(informer.troubles, []);
  });
});

describe('an informer: what is kept', () => {
  it('drops managedFields by default', async () => {
    using informer = new Running();
    await informer.synced({ metadata: { ...object('a', 1).metadata, managedFields: [{}] } });
    assert.deepEqual(informer.cache.get('a')?.metadata, { name: 'a', uid: 'uid-a', resourceVersion: '1' });
  });

  it('keeps what the projection makes, and leaves out what it does not want', async () => {
    using informer = new Running({
      project: ({ metadata, spec }) => (spec === 'no' ? undefined : { metadata: { name: metadata.name ?? '' }, spec: 'projected' }),
    });
    const watch = await informer.synced(object('a', 1), object('b', 2, 'no'));
    assert.deepEqual(informer.cache.get('a'), { metadata: { name: 'a' }, spec: 'projected' });
    assert.deepEqual(informer.names, ['a']);
    informer.take();
    watch.send('MODIFIED', object('b', 11), object('a', 12, 'no'));
    assert.deepEqual(informer.take(), ['added b undefined', 'deleted a undefined']);
  });

  it('finds objects by an index, as they are now', async () => {
    using informer = new Running({ indexes: { spec: ({ spec }) => (Array.isArray(spec) ? spec.map(String) : []) } });
    const watch = await informer.synced(object('a', 1, ['x', 'y', 'x']), object('b', 2, ['y']));
    const by = (value: string): readonly unknown[] => informer.cache.by('spec', value).map(({ metadata }) => metadata.name);
    assert.deepEqual([by('x'), by('y'), by('z')], [['a'], ['a', 'b'], []]);
    watch.send('MODIFIED', object('a', 11, ['z']));
    watch.send('DELETED', object('b', 12, ['q']));
    assert.deepEqual([by('x'), by('y'), by('z'), by('q')], [[], [], ['a'], []]);
    assert.throws(() => informer.cache.by('other', 'x'), /no index "other"/);
  });

  it('goes on where a handler, a projection or an index throws', async () => {
    const fail = (what: string) => (): never => {
      throw new Error(what);
    };
    using informer = new Running({
      project: (thing) => (thing.metadata.name === 'bad' ? fail('project')() : thing),
      indexes: { broken: fail('index') },
    });
    informer.cache.onChange(fail('handler'));
    await informer.synced(object('bad', 1), object('good', 2));
    assert.deepEqual(informer.names, ['good']);
    assert.deepEqual(
      informer.troubles.map(({ kind, error }) => `${kind} ${String(error)}`),
      ['callback Error: project', 'callback Error: index', 'callback Error: handler'],
    );
  });

  it('does not notify a removed listener', async () => {
    using informer = new Running();
    let heard = 0;
    const stop = informer.cache.onChange(() => heard++);
    const watch = await informer.synced(object('a', 1));
    stop();
    watch.send('DELETED', object('a', 11));
    assert.equal(heard, 1);
  });
});

describe('cacheUntil', () => {
  it('resolves with what is there already', async () => {
    using informer = new Running();
    await informer.synced(object('a', 1));
    assert.equal(await cacheUntil(informer.cache, (cache) => cache.get('a')?.metadata.name, informer.stop.signal), 'a');
  });

  it('resolves once a change brings it', async () => {
    using informer = new Running();
    const watch = await informer.synced();
    const waiting = cacheUntil(informer.cache, (cache) => cache.get('a'), informer.stop.signal);
    watch.send('ADDED', object('b', 11));
    watch.send('ADDED', object('a', 12));
    assert.equal((await waiting).metadata.resourceVersion, '12');
  });

  it("rejects with the signal's reason, and with what the look throws", async () => {
    using informer = new Running();
    await informer.synced();
    const stop = new AbortController();
    const waiting = cacheUntil(informer.cache, () => undefined, stop.signal);
    stop.abort(new RangeError('late'));
    await assert.rejects(waiting, RangeError);
    await assert.rejects(
      cacheUntil(informer.cache, () => undefined, stop.signal),
      RangeError,
    );
    const broken = (): never => {
      throw new TypeError('broken');
    };
    await assert.rejects(cacheUntil(informer.cache, broken, informer.stop.signal), TypeError);
  });
});
