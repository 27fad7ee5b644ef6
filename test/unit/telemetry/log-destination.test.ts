import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogDestination, type Sink } from '../../../src/telemetry/log-destination.ts';

/** Completes writes on request. */
class SlowSink implements Sink {
  readonly threaded = false;
  readonly taken: string[] = [];
  #waiting: (() => void) | undefined;
  #bytes = '';

  write(bytes: Buffer, done: Parameters<Sink['write']>[1]): void {
    this.#bytes = bytes.toString();
    this.#waiting = () => {
      this.taken.push(this.#bytes);
      done(null, bytes.length);
    };
  }

  take(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }
}

const fault = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code });

test('lines that arrive during a write follow it together, and lines beyond the bound are dropped, counted and reported', () => {
  const sink = new SlowSink();
  const log = new LogDestination(sink, 30);
  const told: number[] = [];
  log.onResumed = (lines) => told.push(lines);
  for (let line = 0; line < 5; line += 1) log.write(`line ${line}..\n`);
  assert.deepEqual([log.dropped, log.waiting], [2, 27]);
  sink.take();
  assert.deepEqual(told, [2]);
  sink.take();
  assert.deepEqual(sink.taken, ['line 0..\n', 'line 1..\nline 2..\n']);
  assert.equal(log.waiting, 0);
});

test('log lines that a full disk refuses are retried from where they stopped', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const tried: string[] = [];
  const answers: (readonly [NodeJS.ErrnoException | null, number])[] = [
    [null, 2],
    [fault('ENOSPC'), 0],
    [null, 4],
  ];
  const write: Sink['write'] = (bytes, done) => {
    tried.push(bytes.toString());
    const [error, taken] = answers.shift() ?? [null, bytes.length];
    done(error, taken);
  };
  const log = new LogDestination({ threaded: true, write });
  log.write('hello\n');
  assert.deepEqual([log.waiting, log.blocks], [4, false]);
  t.mock.timers.tick(1_000);
  assert.deepEqual(tried, ['hello\n', 'llo\n', 'llo\n']);
  assert.deepEqual([log.waiting, log.dropped], [0, 0]);
});

test('after its reader has closed, nothing waits and a flush returns', async () => {
  const log = new LogDestination({ threaded: false, write: (_, done) => done(fault('EPIPE'), 0) });
  log.write('hello\n');
  log.write('once more\n');
  assert.deepEqual([log.waiting, log.dropped], [0, 2]);
  assert.ok(await log.flush(60_000));
});
