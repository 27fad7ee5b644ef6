import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { changedFields, formatField, managerOf, repairMessage, repairReportOf } from '../../../src/kube/changed-fields.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';

const wanted = {
  metadata: { annotations: { 'example.com/team': 'a' }, labels: { app: 'web' } },
  spec: { ports: [{ port: 80 }], type: 'ClusterIP' },
};
const changed = (change: object): unknown => ({ ...structuredClone(wanted), ...change });
/** A Service has more than what is wanted of it. */
const isSame = (current: unknown, value: unknown): boolean => JSON.stringify(current) === JSON.stringify(value);

describe('changedFields', () => {
  for (const [what, current, fields] of [
    ['nothing', wanted, []],
    ['a list', changed({ spec: { ports: [], type: 'ClusterIP' } }), ['spec.ports']],
    ['a field that is gone', changed({ spec: { ports: wanted.spec.ports } }), ['spec.type']],
    [
      'an annotation',
      changed({ metadata: { ...wanted.metadata, annotations: { 'example.com/team': 'b' } } }),
      ['metadata.annotations["example.com/team"]'],
    ],
    ['a whole part', changed({ metadata: undefined }), ['metadata']],
    ['everything', undefined, ['']],
  ] as const) {
    test(`names ${what}`, () => {
      assert.deepEqual(changedFields(current, wanted, isSame).map(formatField), fields);
    });
  }

  test('names a few of many', () => {
    const labels = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key-${index}`, 'x']));
    assert.equal(changedFields({ labels: {} }, { labels }).length, 3);
  });
});

describe('managerOf', () => {
  const entry = (manager: string, time: string, fieldsV1: unknown, more: object = {}) => ({ manager, time, fieldsV1, ...more });
  const object = (...managedFields: unknown[]): KubeObject => ({ metadata: { name: 'web', managedFields } });
  const ports = { 'f:spec': { 'f:ports': { 'k:{"port":80}': {} } } };
  const labels = { 'f:metadata': { 'f:labels': { 'f:app': {} } } };
  const isOurs = (manager: string): boolean => manager === 'ours';

  for (const [what, managed, path, manager] of [
    [
      'the one that has the field',
      [entry('a', '2026-01-02T00:00:00Z', labels), entry('b', '2026-01-01T00:00:00Z', ports)],
      ['spec', 'ports'],
      'b',
    ],
    [
      'the latest that has the field',
      [entry('a', '2026-01-01T00:00:00Z', ports), entry('b', '2026-01-02T00:00:00Z', ports)],
      ['spec', 'ports'],
      'b',
    ],
    [
      'never this program',
      [entry('ours', '2026-01-02T00:00:00Z', ports), entry('b', '2026-01-01T00:00:00Z', labels)],
      ['spec', 'ports'],
      'b',
    ],
    [
      'the latest of all where the field is gone',
      [entry('a', '2026-01-02T00:00:00Z', {}), entry('b', '2026-01-01T00:00:00Z', labels)],
      ['spec', 'type'],
      'a',
    ],
    ['none of a status', [entry('a', '2026-01-02T00:00:00Z', {}, { subresource: 'status' })], ['spec', 'type'], undefined],
    ['none where nothing is known', [{ manager: 7 }, 'x', null], ['spec'], undefined],
  ] as const) {
    test(`names ${what}`, () => {
      assert.equal(managerOf(object(...managed), path, isOurs), manager);
    });
  }
});

describe('A report of an object that is changed back', () => {
  const isOurs = (manager: string): boolean => manager === 'ours';

  test('names object, field and manager', () => {
    const managedFields = [{ manager: 'other', fieldsV1: { 'f:metadata': { 'f:annotations': {} } } }];
    const current = { ...wanted, metadata: { name: 'web', ...wanted.metadata, annotations: {}, managedFields } };
    const report = repairReportOf(current, wanted, isOurs, (one, other) => isSame(one, other));
    assert.match(
      repairMessage('Service web', report),
      /^Service web is reverted by "other" \(metadata\.annotations\["example\.com\/team"\]/,
    );
  });

  test('says so where the object was deleted', () => {
    assert.match(repairMessage('Service web', repairReportOf(undefined, wanted, isOurs)), /^Service web is reverted by another writer\./);
  });
});
