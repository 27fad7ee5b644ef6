import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION, TOPOLOGY_KEY } from '../../../../src/api/listeners/names.ts';
import type { ListenerClassSpec } from '../../../../src/api/listeners/index.ts';
import { volumeNotices } from '../../../../src/exposure/listeners/volume-notices.ts';
import type { PersistentVolume } from '../../../../src/kube/objects.ts';
import { aClass, aListener, aVolume } from './fixtures.ts';

const toNode = {
  nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: TOPOLOGY_KEY, operator: 'In', values: ['n1'] }] }] } },
};
const ofName = { [LISTENER_NAME_ANNOTATION]: 'web' };
const pinned = aVolume(ofName, toNode);
const loose = aVolume(ofName);
const pins: ListenerClassSpec = { serviceType: 'NodePort', pinnedNodePorts: true };

describe('volumes that were created under another class', () => {
  for (const [what, spec, volumes, expected] of [
    ['unpinned, while the class pins', pins, [loose], [/pins new volumes.*created before and are not pinned: data-web-0\. Delete a claim/]],
    [
      'pinned, while the class no longer does',
      { serviceType: 'NodePort' },
      [pinned],
      [/does not pin new volumes.*created before and stay pinned: data-web-0\./],
    ],
    [
      'pinned, while the class is another type',
      { serviceType: 'LoadBalancer', pinnedNodePorts: true },
      [pinned],
      [/does not pin new volumes/],
    ],
    ['as the class has it', pins, [pinned], []],
    ['as the class has it, unpinned', { serviceType: 'NodePort' }, [loose], []],
    ['released', pins, [{ ...loose, status: { phase: 'Released' } }], []],
    ['being deleted', pins, [{ ...loose, metadata: { ...loose.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } }], []],
    ['many', pins, Array.from({ length: 9 }, () => loose), [/data-web-0, data-web-0, data-web-0 and 6 more\./]],
  ] as const satisfies readonly (readonly [string, ListenerClassSpec, readonly PersistentVolume[], readonly RegExp[]])[]) {
    test(what, () => {
      const notices = volumeNotices(aListener(), aClass(spec), volumes);
      assert.equal(notices.length, expected.length, notices.join());
      for (const [index, pattern] of expected.entries()) assert.match(notices[index] ?? '', pattern);
    });
  }

  test('have their class written back over an edited one', () => {
    const volume = aVolume({ [LISTENER_CLASS_ANNOTATION]: 'some-class' });
    const ownerReferences = [{ apiVersion: 'v1', kind: 'PersistentVolume', name: 'pvc-1', uid: 'volume-uid' }];
    const listener = (className: string) => aListener({ className }, { name: 'data-web-0', ownerReferences });
    const [notice, ...more] = volumeNotices(listener('other'), aClass({ serviceType: 'NodePort' }), [volume]);
    assert.match(
      notice ?? '',
      /spec\.className other applies only until .*PersistentVolume pvc-1 was created for ListenerClass some-class/,
    );
    assert.deepEqual(more, []);
    assert.deepEqual(volumeNotices(listener('some-class'), aClass({ serviceType: 'NodePort' }), [volume]), []);
    // A volume that a person created is not managed here.
    assert.deepEqual(volumeNotices(aListener({ className: 'other' }), aClass({ serviceType: 'NodePort' }), [volume]), []);
  });
});
