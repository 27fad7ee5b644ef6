import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { formatValue, limitReference } from '../../../scripts/limit-reference.ts';
import { limitSections, limitTable, type LimitValue } from '../../../src/limits/table.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

describe('the table of limits', () => {
  it('has one row in the document for each limit', () => {
    const rows = read('docs/reference/limits.md')
      .split('\n## Fair shares')
      .at(0)
      ?.split('\n')
      .filter((line) => line.startsWith('| ') && !/^\| (?:limit|---)/.test(line));
    assert.equal(rows?.length, Object.keys(limitTable).length);
    assert.equal(read('docs/reference/limits.md'), limitReference(), 'run `npm run generate`');
  });

  it('has no two limits of one key', () => {
    const keys = Object.values(limitSections).flatMap((section) => Object.keys(section));
    assert.equal(keys.length, Object.keys(limitTable).length);
  });

  it('has no limit that the code does not take its number from', () => {
    const code = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/limits/table.ts'] })
      .map(read)
      .join('\n');
    const used = new Set([...code.matchAll(/\blimitTable\.(\w+)\.value\b/g)].map(([, key]) => key));
    assert.deepEqual(
      Object.keys(limitTable).filter((key) => !used.has(key)),
      [],
    );
  });
});

describe('a limit in the document', () => {
  const cases: readonly (readonly [LimitValue, string])[] = [
    [{ unit: 'count', value: 16_384 }, '16,384'],
    [{ unit: 'bytes', value: 4_096 }, '4 KiB'],
    [{ unit: 'bytes', value: 25_165_824 }, '24 MiB'],
    [{ unit: 'milliseconds', value: 5 }, '5 ms'],
    [{ unit: 'milliseconds', value: 30_000 }, '30 s'],
    [{ unit: 'part', value: 20 }, '5 %'],
    [{ unit: 'rate', value: { burst: 64, perSecond: 1 } }, '64 at once, then 1 each second'],
    [{ unit: 'rate', value: { burst: 10, perSecond: 10 } }, '10 each second'],
    [{ unit: 'rate', value: { burst: 3, perSecond: 0.1 } }, '3 at once, then one each 10 s'],
    [{ unit: 'rate', value: { burst: 10, perSecond: 1 / 60 } }, '10 at once, then one each minute'],
    [{ unit: 'byteRate', value: { burst: 67_108_864, perSecond: 8_388_608 } }, '64 MiB at once, then 8 MiB each second'],
    [{ unit: 'time', value: { part: 0.25, burst: 3 } }, '25 % of the time, and 3 ms at once'],
    [{ unit: 'pause', value: { first: 1_000, max: 86_400_000 } }, 'doubles from 1 s to 1 day'],
  ];
  for (const [limit, text] of cases) it(`shows ${JSON.stringify(limit)} as ${text}`, () => assert.equal(formatValue(limit), text));
});
