import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planOwnership } from '../../../../src/exposure/mounts/mount-plan.ts';
import type { PersistentVolume } from '../../../../src/kube/objects.ts';
import { aListener } from '../listeners/fixtures.ts';
import { mounted } from '../support/objects.ts';

describe('a Listener that has the name of a claim and is not owned by the volume', () => {
  const { volume } = mounted('web-0');
  const OWNER = { apiVersion: 'v1', kind: 'PersistentVolume', name: 'pv-old', uid: 'uid-of-pv-old' };
  const left = aListener({}, { name: 'data-web-0', namespace: 'shop', ownerReferences: [OWNER] });
  const earlier = (policy: string, phase: string, changes: PersistentVolume['metadata'] = {}, claim = 'data-web-0'): PersistentVolume => ({
    metadata: { name: 'pv-old', uid: OWNER.uid, ...changes },
    spec: { persistentVolumeReclaimPolicy: policy, claimRef: { namespace: 'shop', name: claim, uid: 'earlier' } },
    status: { phase },
  });
  const adopted = [{ apiVersion: 'v1', kind: 'PersistentVolume', name: 'pv-web-0', uid: 'uid-of-pv-web-0' }];
  const rows: readonly (readonly [string, PersistentVolume | undefined, 'adopted' | readonly [reason: string, says: RegExp]])[] = [
    ['is adopted from a retained volume of the same claim', earlier('Retain', 'Released'), 'adopted'],
    ['is adopted where that volume failed to be deleted', earlier('Delete', 'Failed'), 'adopted'],
    [
      'waits for that volume to be deleted, and names it',
      earlier('Delete', 'Released'),
      [
        'ListenerBeingReplaced',
        /PersistentVolume pv-old of an earlier claim of this name, which is deleted once it is released \(its phase is Released\)/,
      ],
    ],
    [
      'waits for its release',
      earlier('Retain', 'Bound'),
      ['ListenerBeingReplaced', /PersistentVolume pv-old, which Kubernetes has not released/],
    ],
    [
      'waits for one that is being deleted, and names its finalizers',
      earlier('Retain', 'Released', { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/keep'] }),
      ['ListenerBeingReplaced', /pv-old, which is being deleted \(its finalizers: example\.com\/keep\)/],
    ],
    ['waits for the garbage collector', undefined, ['ListenerBeingReplaced', /pv-old, which no longer exists/]],
    [
      'waits for the garbage collector where another volume took the name',
      earlier('Retain', 'Released', { uid: 'other' }),
      ['ListenerBeingReplaced', /pv-old, which no longer exists/],
    ],
    [
      'is left to a volume of another claim, with both ways out',
      earlier('Retain', 'Bound', {}, 'data-other'),
      [
        'ListenerNotOwned',
        /pv-old \(phase Bound, of claim shop\/data-other\)\. Delete that volume, and its address with it, or give this claim another name/,
      ],
    ],
  ];
  for (const [what, owner, expected] of rows) {
    it(what, () => {
      const plan = planOwnership(left, volume, (name) => (name === 'pv-old' ? owner : undefined));
      if (expected === 'adopted') assert.deepEqual(plan, { owners: adopted });
      else {
        assert.ok('waiting' in plan);
        assert.equal(plan.waiting.reason, expected[0]);
        assert.match(plan.waiting.message, expected[1]);
      }
    });
  }

  it('is not adopted while it is being deleted itself', () => {
    const ends = { ...left, metadata: { ...left.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/lb'] } };
    const plan = planOwnership(ends, volume, () => earlier('Retain', 'Released'));
    assert.ok('waiting' in plan);
    assert.match(
      plan.waiting.message,
      /Listener shop\/data-web-0 of an earlier volume is being deleted \(its finalizers: example\.com\/lb\)/,
    );
  });

  it('keeps its owners of other kinds', () => {
    const other = { apiVersion: 'example.com/v1', kind: 'Broker', name: 'b', uid: 'b' };
    const shared = { ...left, metadata: { ...left.metadata, ownerReferences: [OWNER, other] } };
    const plan = planOwnership(shared, volume, () => earlier('Retain', 'Released'));
    assert.deepEqual(plan, { owners: [other, ...adopted] });
  });
});
