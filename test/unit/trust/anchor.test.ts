import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { currentRevocations, ledgerFindings, noAnchor, type Anchor } from '../../../src/trust/anchor.ts';
import type { RevocationList } from '../../../src/trust/disk/ledger-files.ts';

const revoked = (...names: readonly string[]): RevocationList['revoked'] =>
  names.map((name) => ({ name, at: Date.parse('2026-01-01T00:00:00Z'), siteIds: [`id-of-${name}`], serials: [] }));
const anchor = (sequence: number, ...names: readonly string[]): Anchor => ({
  ...noAnchor,
  revocations: { sequence, revoked: revoked(...names) },
});

describe('currentRevocations', () => {
  for (const [what, stored, copy, names, isRestored] of [
    ['takes a stored list without a copy', { sequence: 3, revoked: revoked('b') }, noAnchor, ['b'], false],
    ['takes a stored list with a higher number', { sequence: 4, revoked: revoked() }, anchor(3, 'b'), [], false],
    ['takes the copy where no list is stored', undefined, anchor(3, 'b'), ['b'], true],
    ['lifts no revocation by a copy with a higher number', { sequence: 3, revoked: revoked('b') }, anchor(4), ['b'], true],
    ['unites an older stored list with the copy', { sequence: 3, revoked: revoked('b') }, anchor(4, 'c'), ['b', 'c'], true],
    ['unites a list without a number with the copy', { revoked: revoked('b') }, anchor(4, 'b', 'c'), ['b', 'c'], true],
  ] as const) {
    test(what, () => {
      const found = currentRevocations(stored as RevocationList | undefined, copy);
      assert.deepEqual(found.list.revoked.map(({ name }) => name).toSorted(), [...names]);
      assert.equal(found.isRestored, isRestored);
    });
  }
});

test('a list that was put back says that an earlier version may have changed it, and how to let a site in again', () => {
  const now = Date.parse('2026-01-01T12:00:00Z');
  const [finding] = ledgerFindings({ ...noAnchor, restored: now }, { location: 'revoked.yaml', anchor: 'anchor.json', now });
  assert.equal(finding?.severity, 'warning');
  assert.match(
    finding.message,
    /^the list of revoked sites was restored at 2026-01-01T12:00:00\.000Z: .*by an earlier version\..*site unrevoke/,
  );
});
