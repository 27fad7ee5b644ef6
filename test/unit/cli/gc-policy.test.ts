import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { MemoryReclaimer, Preference } from '../../../src/cli/processes/gc-policy.ts';

const MIB = 1 << 20;
const SMALL = ['--optimize-for-size', '--heap-growing-percent=0'];
const FAST = ['--no-optimize-for-size', '--heap-growing-percent=0'];
const HURRIED = ['--no-optimize-for-size', '--heap-growing-percent=70'];
const usage = (heap: number, beside: number, all: number) => ({ heapUsed: heap * MIB, external: beside * MIB, rss: all * MIB });

test('the collector is to be fast while much is held, and to keep the process small again when it is not', () => {
  const preference = new Preference(2_048 * MIB);
  assert.deepEqual(preference.flagsFor(usage(30, 20, 110), 0), []);
  assert.deepEqual(preference.flagsFor(usage(30, 40, 130), 0), FAST);
  assert.deepEqual(preference.flagsFor(usage(200, 400, 900), 0), []);
  assert.deepEqual(preference.flagsFor(usage(30, 25, 400), 0), [], 'a little less is still much');
  assert.deepEqual(preference.flagsFor(usage(25, 10, 120), 0), SMALL);
  assert.deepEqual(preference.flagsFor(usage(25, 10, 120), 0), []);
});

test('the collector is to be fast for a while after it had to collect often, however little is held', () => {
  const preference = new Preference(2_048 * MIB);
  const little = usage(30, 20, 110);
  preference.collected(1_000);
  preference.collected(6_000);
  assert.deepEqual(preference.flagsFor(little, 6_000), [], 'every five seconds is not often');
  preference.collected(10_900);
  assert.deepEqual(preference.flagsFor(little, 10_900), HURRIED);
  preference.collected(16_000);
  assert.deepEqual(preference.flagsFor(little, 20_800), []);
  assert.deepEqual(preference.flagsFor(little, 20_900), SMALL);
});

test('it keeps the process small while memory is short, for any number of collections', () => {
  const preference = new Preference(256 * MIB);
  for (const at of [1_000, 1_100, 1_200]) preference.collected(at);
  assert.deepEqual(preference.flagsFor(usage(40, 60, 140), 1_200), []);
});

test('it keeps the process small while memory is short, for any held memory', () => {
  const preference = new Preference(256 * MIB);
  assert.deepEqual(preference.flagsFor(usage(40, 60, 140), 0), []);
  assert.deepEqual(preference.flagsFor(usage(40, 30, 120), 0), FAST);
  assert.deepEqual(preference.flagsFor(usage(60, 60, 180), 0), SMALL);
});

test('a process that is not busy collects what others have left over, once', () => {
  const leftovers = new MemoryReclaimer();
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

test('V8 still has the flags that are set', () => {
  const options = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  for (const flag of ['--optimize-for-size', '--heap-growing-percent', '--max-semi-space-size', '--parallel-scavenge', '--expose-gc'])
    assert.match(options, new RegExp(`^ {2}${flag} \\(`, 'm'));
});
