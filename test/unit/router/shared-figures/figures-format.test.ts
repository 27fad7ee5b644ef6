import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { RouterFigures } from '../../../../src/router/contract.ts';
import { formatFigures, parseFigures } from '../../../../src/router/shared-figures/figures-format.ts';
import { limitTable } from '../../../../src/limits/table.ts';

const EAST = '0a1b2c3d-0000-8000-8000-000000000001';
const sums = { uptime: 1_000, open: 1, opened: 2, failed: 0, up: 10, down: 20 };
const figures: RouterFigures = {
  version: '0.2.0',
  ...sums,
  eventLoopDelay: 1.5,
  links: [{ site: EAST, state: 'up', cost: 1, roundTrip: 0.4 }],
};

const parse = (value: unknown): RouterFigures | undefined => parseFigures(Buffer.from(JSON.stringify(value)));

suite('figures of another router', () => {
  test('are the same after the way through JSON', () => {
    assert.deepEqual(parseFigures(formatFigures(figures)), figures);
  });

  test('of the most links fit into an answer', () => {
    const links = Array.from(
      { length: limitTable.observedLinks.value },
      () => ({ site: EAST, state: 'silent', cost: 65_535, roundTrip: 99_999.9 }) as const,
    );
    assert.ok(formatFigures({ ...figures, links }).length < limitTable.observationBytes.value);
  });

  for (const [what, value] of [
    ['not an object', 7],
    ['null', null],
    ['a list', []],
    ['without a sum', { ...sums, opened: undefined }],
    ['with a negative sum', { ...sums, failed: -1 }],
    ['with a sum that is text', { ...sums, up: '10' }],
    ['with a sum beyond whole numbers', { ...sums, down: 1e300 }],
  ] as const)
    test(`are not valid if they are ${what}`, () => assert.equal(parse(value), undefined));

  test('are not valid if they are not JSON', () => {
    for (const text of ['', '{', '\u0000', '['.repeat(60_000)]) assert.equal(parseFigures(Buffer.from(text)), undefined);
  });

  test('lose links that are not valid, and text that terminals obey', () => {
    const links = [{ site: 'x\u001b[2J', state: 'up' }, { site: EAST, state: 'sideways' }, { site: EAST, state: 'down', cost: 'x' }, 7];
    const found = parse({ ...sums, version: `1\n\u202e${'x'.repeat(100)}`, links, more: 1 });
    assert.deepEqual(found?.links, [{ site: EAST, state: 'down' }]);
    assert.ok(found.version.length <= 64 && /^[ -~…]*$/.test(found.version));
    const many = Array.from({ length: 10_000 }, () => ({ site: EAST, state: 'up' }));
    assert.equal(parse({ ...sums, links: many })?.links.length, limitTable.observedLinks.value);
  });

  test('never throw, whatever a router sends', () => {
    fc.assert(fc.property(fc.json(), (json) => void parseFigures(Buffer.from(json))));
    fc.assert(fc.property(fc.uint8Array(), (bytes) => parseFigures(Buffer.from(bytes)) === undefined));
  });
});
