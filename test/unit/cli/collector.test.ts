import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Leftovers, Preference } from '../../../src/cli/processes/collector.ts';

const MIB = 1 << 20;
const usage = (heap: number, beside: number, all: number) => ({ heapUsed: heap * MIB, external: beside * MIB, rss: all * MIB });

test('the collector is to be fast while much is held, and to keep the process small again when it is not', () => {
  const preference = new Preference(2_048 * MIB);
  assert.equal(preference.flagFor(usage(30, 20, 110)), undefined);
  assert.equal(preference.flagFor(usage(30, 40, 130)), '--no-optimize-for-size');
  assert.equal(preference.flagFor(usage(200, 400, 900)), undefined);
  assert.equal(preference.flagFor(usage(30, 25, 400)), undefined, 'a little less is still much');
  assert.equal(preference.flagFor(usage(25, 10, 120)), '--optimize-for-size');
  assert.equal(preference.flagFor(usage(25, 10, 120)), undefined);
});

test('where memory is short it keeps the process small, whatever is held', () => {
  const preference = new Preference(256 * MIB);
  assert.equal(preference.flagFor(usage(40, 60, 140)), undefined);
  assert.equal(preference.flagFor(usage(40, 30, 120)), '--no-optimize-for-size');
  assert.equal(preference.flagFor(usage(60, 60, 180)), '--optimize-for-size');
});

test('a process that is not busy collects what others have left over, once', () => {
  const leftovers = new Leftovers();
  const looks = (heap: number, beside: number, busy: number): number =>
    Array.from({ length: 30 }, () => leftovers.isDue(usage(heap, beside, 900), busy)).filter(Boolean).length;
  assert.equal(looks(30, 20, 0.01), 0);
  assert.equal(looks(60, 500, 0.9), 0, 'while it is busy V8 does that');
  assert.equal(looks(60, 500, 0.01), 1);
  assert.equal(looks(60, 500, 0.01), 0, 'what is still there is in use');
  assert.equal(looks(20, 10, 0.01), 0);
  assert.equal(looks(60, 100, 0.01), 1, 'there is more again');
  assert.equal(looks(200, 100, 0.01), 0, 'of a large heap it would take too long');
});

test('V8 still has what it is told', () => {
  const options = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  for (const flag of ['--optimize-for-size', '--expose-gc']) assert.match(options, new RegExp(`^ {2}${flag} \\(`, 'm'));
});
