import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION } from '../../../../src/api/listeners/names.ts';
import type { PersistentVolumeClaim } from '../../../../src/kube/objects.ts';
import { planVolume, whyUnsupported } from '../../../../src/exposure/provision/volume-plan.ts';
import { aClaim, aStorageClass } from './objects.ts';

const selection = { annotation: LISTENER_CLASS_ANNOTATION, name: 'some-class' } as const;

describe('the volume of a claim', () => {
  it('is what external-provisioner makes, with the labels of its Listener', () => {
    const storageClass = aStorageClass({ mountOptions: ['ro'], parameters: { 'csi.storage.k8s.io/fstype': 'ext4' } });
    const claim = aClaim({}, { volumeMode: 'Filesystem', resources: { requests: { storage: '2Gi' } } });
    assert.deepEqual(planVolume(claim, { storageClass, selection, node: 'n1' }), {
      metadata: {
        name: 'pvc-c1',
        annotations: {
          'pv.kubernetes.io/provisioned-by': 'listeners.stackable.tech',
          'volume.kubernetes.io/provisioner-deletion-secret-name': '',
          'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
        },
        labels: { 'listeners.stackable.tech/listener-namespace': 'shop', 'listeners.stackable.tech/listener-name': 'data-web-0' },
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '2Gi' },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'shop', name: 'data-web-0', uid: 'c1' },
        csi: {
          driver: 'listeners.stackable.tech',
          volumeHandle: 'pvc-c1',
          volumeAttributes: { 'listeners.stackable.tech/listener-class': 'some-class' },
          fsType: 'ext4',
        },
        mountOptions: ['ro'],
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'listeners.stackable.tech/hostname', operator: 'In', values: ['n1'] }] }],
          },
        },
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: 'listeners.stackable.tech',
        volumeMode: 'Filesystem',
      },
    });
  });

  it('has the labels of the Listener that its claim names, and no node where any will do', () => {
    const named = { annotation: LISTENER_NAME_ANNOTATION, name: 'web' } as const;
    const { metadata, spec } = planVolume(aClaim(), { storageClass: aStorageClass(), selection: named, node: undefined });
    assert.equal(metadata.labels?.['listeners.stackable.tech/listener-name'], 'web');
    assert.equal(spec?.nodeAffinity, undefined);
  });

  it('has no labels if the name is too long for one, which its mount reports', () => {
    const claim = aClaim({}, {}, { name: 'a'.repeat(64) });
    assert.equal(planVolume(claim, { storageClass: aStorageClass(), selection, node: undefined }).metadata.labels, undefined);
  });

  for (const [what, spec, word] of [
    ['a raw block device', { volumeMode: 'Block' }, /volumeMode: Filesystem/],
    ['content to begin with', { dataSource: { kind: 'VolumeSnapshot' } }, /remove dataSource/],
    ['a populator', { dataSourceRef: { kind: 'Anything' } }, /remove dataSource/],
    ['a selector', { selector: { matchLabels: {} } }, /remove the selector/],
    ['attributes', { volumeAttributesClassName: 'fast' }, /remove volumeAttributesClassName/],
  ] satisfies readonly (readonly [string, NonNullable<PersistentVolumeClaim['spec']>, RegExp])[]) {
    it(`cannot be ${what}`, () => assert.match(whyUnsupported(aClaim({}, spec)) ?? '', word));
  }

  it('can be all else', () =>
    assert.equal(whyUnsupported(aClaim({}, { volumeMode: 'Filesystem', volumeAttributesClassName: '' })), undefined));
});
