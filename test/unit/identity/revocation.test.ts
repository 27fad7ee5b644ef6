import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revokedOf, revokedSets, type Party } from '../../../src/identity/revocation.ts';

const [OUT, IN] = ['11111111-1111-8111-8111-111111111111', '22222222-2222-8222-8222-222222222222'];
const revoked = revokedSets({ sites: [OUT], serials: ['4F00AA'] });
const certificate = (serials: readonly string[], sites: readonly string[] = []): Pick<Party, 'certificate'> => ({
  certificate: { serials, sites },
});

const rows: readonly [string, Party, string | undefined][] = [
  ['a party without names', {}, undefined],
  ['a site by its hello', { site: OUT }, OUT],
  ['another by its hello', { site: IN }, undefined],
  ['a site that only the certificate names', certificate(['01'], [OUT]), OUT],
  ['a certificate that names several', certificate(['01'], [IN, OUT]), OUT],
  ['a certificate of another site, shown by one that is revoked', { site: OUT, ...certificate(['01'], [IN]) }, OUT],
  ['a certificate by its serial number', { site: IN, ...certificate(['4F00AA'], [IN]) }, '4F00AA'],
  ['a serial number as other programs write it', certificate(['004f00aa']), '004f00aa'],
  ['a certificate that comes from a revoked one', certificate(['01', '4F00AA']), '4F00AA'],
  ['a part of a serial number', certificate(['4F00']), undefined],
  ['a request that passed the site', { site: IN, path: [IN, OUT] }, OUT],
  ['a request that is to pass its router', { site: IN, path: [`${IN}/main`, `${OUT}/main`] }, OUT],
  ['an id as other programs write it', { path: ['11111111-1111-8111-8111-111111111111'.toUpperCase()] }, OUT],
  ['a request that passes others', { site: IN, path: [`${IN}/main`] }, undefined],
];

for (const [who, party, id] of rows) {
  test(`${who}: ${id === undefined ? 'let in' : 'refused'}`, () => {
    assert.equal(revokedOf(party, revoked)?.id, id);
    assert.equal(revokedOf(party, revokedSets({ sites: [], serials: [] })), undefined, 'nothing is revoked');
  });
}

test('a site cannot shut itself out', () => {
  assert.equal(revokedOf({ path: [`${OUT}/main`] }, revokedSets({ sites: [OUT], serials: [] }, OUT)), undefined);
});
