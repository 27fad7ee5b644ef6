import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';

import fc from 'fast-check';

import { WorkQueue, type WorkQueueOptions } from '../../../src/work/queue.ts';
import { TerminalError, type ReconcileResult } from '../../../src/work/reconcile.ts';
import { eventually } from '../../harness/wait.ts';
import { logLines, silentLog } from '../support/log-lines.ts';

interface Run {
  readonly key: string;
  readonly signal: AbortSignal;
  end(result?: ReconcileResult): void;
  fail(error: unknown): void;
}

/** A queue whose reconciles last until the test ends them, without jitter. */
class Held {
  /** All runs ever begun. */
  readonly runs: Run[] = [];
  readonly outcomes: string[] = [];
  readonly queue: WorkQueue;

  constructor(options: Partial<WorkQueueOptions> = {}) {
    const reconcile = (key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> =>
      new Promise((resolve, reject) => this.runs.push({ key, signal, end: resolve, fail: reject }));
    const onResult: WorkQueueOptions['onResult'] = (key, outcome) => this.outcomes.push(`${key} ${outcome}`);
    const backoff = { first: 100, max: 400 };
    this.queue = new WorkQueue({ name: 'test', log: silentLog, reconcile, concurrency: 2, onResult, backoff, random: () => 0, ...options });
  }

  run(index: number): Promise<Run> {
    return eventually(`run ${index}`, () => this.runs[index]);
  }

  /** Resolves once nothing is running, or about to. */
  idle(): Promise<true> {
    return eventually('the queue is idle', () => this.queue.depth === 0 && this.queue.running === 0);
  }

  get keys(): readonly string[] {
    return this.runs.map(({ key }) => key);
  }
}

function timers(t: TestContext): (milliseconds: number) => void {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return (milliseconds) => {
    now += milliseconds;
    t.mock.timers.tick(milliseconds);
  };
}

describe('a work queue', () => {
  it('runs a key once, however often it is added before it runs', async () => {
    const held = new Held({ concurrency: 1 });
    for (let i = 0; i < 3; i++) held.queue.add('a');
    held.queue.add('b');
    assert.deepEqual([held.queue.depth, held.runs.length], [2, 0]);
    (await held.run(0)).end();
    (await held.run(1)).end();
    await held.idle();
    assert.deepEqual(held.keys, ['a', 'b']);
    assert.deepEqual(held.outcomes, ['a success', 'b success']);
  });

  it('serves groups round-robin, and the keys of each in their order', async () => {
    const held = new Held({ concurrency: 1, groupOf: (key) => key.slice(0, 1) });
    for (const key of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) held.queue.add(key);
    for (let run = 0; run < 6; run += 1) (await held.run(run)).end();
    await held.idle();
    assert.deepEqual(held.keys, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('runs no more keys of a group at once than it may, and goes on with others meanwhile', async () => {
    const held = new Held({ concurrency: 4, groupOf: (key) => key.slice(0, 1), mostOfGroup: 2 });
    for (const key of ['a1', 'a2', 'a3', 'a4', 'b1']) held.queue.add(key);
    await held.run(2);
    assert.deepEqual([held.keys, held.queue.running, held.queue.depth], [['a1', 'b1', 'a2'], 3, 2]);
    (await held.run(1)).end();
    held.queue.add('b2');
    await held.run(3);
    assert.deepEqual(held.keys, ['a1', 'b1', 'a2', 'b2']);
    (await held.run(0)).end();
    await held.run(4);
    assert.deepEqual(held.keys, ['a1', 'b1', 'a2', 'b2', 'a3']);
    for (const run of [2, 3, 4]) (await held.run(run)).end();
    (await held.run(5)).end();
    await held.idle();
    assert.deepEqual(held.keys, ['a1', 'b1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('runs keys in their order, no more at once than it may', async () => {
    const held = new Held();
    for (const key of ['a', 'b', 'c', 'd']) held.queue.add(key);
    await held.run(1);
    assert.deepEqual([held.keys, held.queue.running, held.queue.depth], [['a', 'b'], 2, 2]);
    (await held.run(1)).end();
    await held.run(2);
    assert.deepEqual(held.keys, ['a', 'b', 'c']);
  });

  it('runs a key that is added while it runs once more, after that run', async () => {
    const held = new Held();
    held.queue.add('a');
    const first = await held.run(0);
    held.queue.add('a');
    held.queue.add('a');
    held.queue.add('b');
    await held.run(1);
    assert.deepEqual(held.keys, ['a', 'b']);
    first.end();
    (await held.run(2)).end();
    (await held.run(1)).end();
    await held.idle();
    assert.deepEqual(held.keys, ['a', 'b', 'a']);
  });

  it('tries a failed key again, each time after twice the pause, up to the bound', async (t) => {
    const pass = timers(t);
    const held = new Held();
    held.queue.add('a');
    for (const [index, pause] of [100, 200, 400, 400].entries()) {
      (await held.run(index)).fail(new Error('no'));
      await eventually('the retry waits', () => held.queue.delayed === 1);
      pass(pause - 1);
      assert.equal(held.queue.depth, 0);
      pass(1);
      assert.deepEqual([held.queue.depth, held.queue.delayed], [1, 0]);
    }
    (await held.run(4)).end();
    await held.idle();
    assert.deepEqual(new Set(held.outcomes.slice(0, 4)), new Set(['a error']));
  });

  it('begins again with the shortest pause after a success', async (t) => {
    const pass = timers(t);
    const held = new Held();
    held.queue.add('a');
    for (let i = 0; i < 3; i++) {
      (await held.run(i)).fail(new Error('no'));
      await eventually('the retry waits', () => held.queue.delayed === 1);
      pass(400);
    }
    (await held.run(3)).end();
    await held.idle();
    held.queue.add('a');
    (await held.run(4)).fail(new Error('no'));
    await eventually('the retry waits', () => held.queue.delayed === 1);
    pass(100);
    assert.equal(held.queue.depth, 1);
  });

  it('waits as long as the error asks', async (t) => {
    const pass = timers(t);
    const held = new Held({ askedToWait: () => 3_000 });
    held.queue.add('a');
    (await held.run(0)).fail(new Error('busy'));
    await eventually('the retry waits', () => held.queue.delayed === 1);
    pass(2_999);
    assert.equal(held.queue.depth, 0);
    pass(1);
    assert.equal(held.queue.depth, 1);
  });

  it('does not try a terminal error again, until the key is added', async () => {
    const held = new Held();
    held.queue.add('a');
    (await held.run(0)).fail(new TerminalError('never'));
    await held.idle();
    assert.deepEqual([held.queue.delayed, held.outcomes], [0, ['a terminal']]);
    held.queue.add('a');
    (await held.run(1)).end();
  });

  it('logs the start and the result of each reconcile at debug, with one ID', async (t) => {
    const tick = timers(t);
    const { log, entries, story } = logLines();
    const held = new Held({ log });
    held.queue.add('a');
    const first = await held.run(0);
    tick(7);
    first.end({ requeueAfter: 50 });
    await held.idle();
    tick(50);
    (await held.run(1)).fail(new Error('no answer'));
    await held.idle();
    tick(100);
    (await held.run(2)).fail(new TerminalError('never'));
    await held.idle();
    assert.deepEqual(story('level', 'queue', 'key', 'outcome', 'milliseconds', 'retryAfter', 'reason'), [
      'reconcile started level=debug queue=test key=a',
      'reconcile ended level=debug queue=test key=a outcome=requeue milliseconds=7 retryAfter=50',
      'reconcile started level=debug queue=test key=a',
      'reconcile ended level=debug queue=test key=a outcome=error milliseconds=0 retryAfter=100 reason=no answer',
      'reconcile started level=debug queue=test key=a',
      'reconcile ended level=debug queue=test key=a outcome=terminal milliseconds=0 reason=never',
    ]);
    const ids = entries.map(({ reconcile }) => reconcile);
    assert.deepEqual(ids, [ids[0], ids[0], ids[2], ids[2], ids[4], ids[4]]);
    assert.equal(new Set(ids).size, 3);
  });

  it('takes a reconcile that throws at once for one that rejects', async () => {
    const outcomes: string[] = [];
    const reconcile = (): never => {
      throw new TerminalError('at once');
    };
    const queue = new WorkQueue({
      name: 'test',
      log: silentLog,
      concurrency: 1,
      reconcile,
      onResult: (_key, outcome) => outcomes.push(outcome),
    });
    queue.add('a');
    await eventually('the outcome', () => outcomes.length === 1);
    assert.deepEqual(outcomes, ['terminal']);
  });

  it('looks again when the reconcile asked for it, but not where a later run did not', async (t) => {
    const pass = timers(t);
    const held = new Held();
    held.queue.add('a');
    (await held.run(0)).end({ requeueAfter: 1_000 });
    await eventually('the requeue waits', () => held.queue.delayed === 1);
    held.queue.add('a');
    (await held.run(1)).end({ requeueAfter: 500 });
    await eventually('the requeue waits', () => held.queue.delayed === 1);
    pass(500);
    (await held.run(2)).end();
    await held.idle();
    assert.equal(held.queue.delayed, 0);
    pass(10_000);
    assert.deepEqual([held.queue.depth, held.outcomes], [0, ['a requeue', 'a requeue', 'a success']]);
  });

  it('keeps a delay that the caller asked for through runs before it, and the earlier of two', async (t) => {
    const pass = timers(t);
    const held = new Held();
    held.queue.addAfter('a', 1_000);
    held.queue.addAfter('a', 5_000);
    held.queue.addAfter('b', 5_000);
    held.queue.addAfter('b', 1_000);
    held.queue.add('a');
    (await held.run(0)).end();
    await held.idle();
    assert.equal(held.queue.delayed, 2);
    pass(1_000);
    assert.deepEqual([held.queue.depth, held.queue.delayed], [2, 0]);
  });

  it('runs a key that is added while its retry waits at once, and that retry is void', async (t) => {
    const pass = timers(t);
    const held = new Held();
    held.queue.add('a');
    (await held.run(0)).fail(new Error('no'));
    await eventually('the retry waits', () => held.queue.delayed === 1);
    held.queue.add('a');
    (await held.run(1)).end();
    await held.idle();
    assert.equal(held.queue.delayed, 0);
    pass(10_000);
    assert.equal(held.queue.depth, 0);
  });

  it('leaves the event loop its turn between quick keys', async () => {
    let ran = 0;
    const reconcile = (): Promise<undefined> => {
      ran++;
      return Promise.resolve(undefined);
    };
    const queue = new WorkQueue({ name: 'test', log: silentLog, concurrency: 10, reconcile });
    for (let i = 0; i < 100; i++) queue.add(String(i));
    const seen: number[] = [];
    // One look a turn, and many more turns than keys.
    for (let turns = 0; seen.at(-1) !== 100 && turns < 10_000; turns++) {
      seen.push(ran);
      await nextTurn();
    }
    assert.equal(ran, 100);
    assert(new Set(seen).size >= 8, `the event loop saw ${[...new Set(seen)].join(', ')} of 100`);
  });
});

describe('a work queue that stops', () => {
  it('takes nothing more, drops what waits, and waits for what runs', async (t) => {
    const pass = timers(t);
    const held = new Held({ concurrency: 1 });
    held.queue.add('a');
    const run = await held.run(0);
    held.queue.add('a');
    held.queue.add('b');
    held.queue.addAfter('c', 10);
    let stopped = false;
    const stopping = held.queue.stop(1_000).then(() => (stopped = true));
    held.queue.add('d');
    held.queue.addAfter('e', 10);
    pass(100);
    assert.deepEqual([stopped, held.queue.depth, held.queue.delayed], [false, 0, 0]);
    run.fail(new Error('late'));
    await stopping;
    assert.deepEqual([held.keys, held.queue.depth, held.queue.delayed, run.signal.aborted], [['a'], 0, 0, false]);
  });

  it('aborts what still runs at the deadline, and does not wait for ever', async (t) => {
    const pass = timers(t);
    const held = new Held();
    held.queue.add('a');
    held.queue.add('b');
    const obedient = await held.run(0);
    const stubborn = await held.run(1);
    obedient.signal.addEventListener('abort', () => obedient.fail(obedient.signal.reason));
    const stopping = held.queue.stop(1_000);
    pass(999);
    assert.equal(obedient.signal.aborted, false);
    pass(1);
    await eventually('the abort', () => stubborn.signal.aborted);
    await eventually('the obedient one has ended', () => held.queue.running === 1);
    pass(1_000);
    await stopping;
    assert.equal(held.queue.running, 1);
  });

  it('ends with its scope', async () => {
    const held = new Held();
    {
      await using queue = held.queue;
      queue.addAfter('a', 1_000_000);
    }
    assert.equal(held.queue.delayed, 0);
  });
});

type Step = { readonly do: 'add' | 'later' | 'end' | 'fail' | 'turn'; readonly key: string };

const steps = fc.array(
  fc.record({ do: fc.constantFrom<Step['do'][]>('add', 'later', 'end', 'fail', 'turn'), key: fc.constantFrom('a', 'b', 'c') }),
  { maxLength: 60 },
);

describe('a work queue, whatever happens', () => {
  it('never runs a key twice at once, and runs each key after it was last added', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (script: readonly Step[]) => {
        const active = new Map<string, (failed: boolean) => void>();
        const owed = new Set<string>();
        // An error of a reconcile is only another retry to the queue.
        const twice: string[] = [];
        const reconcile = (key: string): Promise<undefined> => {
          if (active.has(key)) twice.push(key);
          owed.delete(key);
          return new Promise((resolve, reject) => {
            active.set(key, (failed) => {
              active.delete(key);
              if (failed) reject(new Error('no'));
              else resolve(undefined);
            });
          });
        };
        await using queue = new WorkQueue({ name: 'test', log: silentLog, concurrency: 2, reconcile, backoff: { first: 0, max: 0 } });
        for (const { do: what, key } of script) {
          if (what === 'add' || what === 'later') owed.add(key);
          if (what === 'add') queue.add(key);
          if (what === 'later') queue.addAfter(key, 0);
          if (what === 'end' || what === 'fail') active.get(key)?.(what === 'fail');
          if (what === 'turn') await new Promise(setImmediate);
          assert(active.size <= 2);
        }
        await eventually('nothing is owed', () => {
          for (const end of active.values()) end(false);
          return owed.size === 0 && queue.depth + queue.delayed + queue.running === 0;
        });
        assert.deepEqual(twice, []);
      }),
      { numRuns: 50 },
    );
  });
});
