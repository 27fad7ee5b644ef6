import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Preference } from '../../../src/cli/processes/collector.ts';

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

test('V8 still has what it is told', () => {
  assert.match(execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' }), /^ {2}--optimize-for-size \(/m);
});
