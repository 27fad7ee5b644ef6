import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../../src/kube/objects.ts';
import { LISTENER_CLASS_ANNOTATION } from '../../../../src/api/listeners/names.ts';
import { keptClaim } from '../../../../src/exposure/cluster/claims.ts';
import { nextStep, spreadNode } from '../../../../src/exposure/provision/claim-step.ts';
import { reclaimStep } from '../../../../src/exposure/provision/reclaim-reconciler.ts';
import { aClaim, aDriverNode, aStorageClass, COMPLETED, PROVISIONER, SELECTED } from './objects.ts';

const DRIVER = 'listeners.stackable.tech';
const FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';

function aVolume(
  phase: string,
  of: { uid?: string; spec?: PersistentVolume['spec']; metadata?: PersistentVolume['metadata'] } = {},
): PersistentVolume {
  const { uid = 'c1', spec = {}, metadata = {} } = of;
  return {
    metadata: { name: 'pvc-c1', uid: 'v1', ...metadata },
    spec: {
      claimRef: { namespace: 'shop', name: 'data-web-0', uid },
      csi: { driver: DRIVER, volumeHandle: 'pvc-c1' },
      persistentVolumeReclaimPolicy: 'Delete',
      ...spec,
    },
    status: { phase },
  };
}

const going = (claim: PersistentVolumeClaim): PersistentVolumeClaim => ({
  ...claim,
  metadata: { ...claim.metadata, deletionTimestamp: 'now' },
});
const podOn = (nodeName: string | undefined): Pod => ({
  metadata: { name: 'web-0', namespace: 'shop' },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
});
const unscheduled = (): PersistentVolumeClaim => aClaim({ [SELECTED]: '' });
const immediate = aStorageClass({ volumeBindingMode: 'Immediate' });
const ofAnother = aStorageClass({ provisioner: 'example.com/disk' });

describe('what comes next for a claim', () => {
  for (const [what, claim, around, step] of [
    ['that was given a node', aClaim(), {}, 'provision'],
    ['that waits for a pod', unscheduled(), {}, 'nothing'],
    ['whose pod has no node', unscheduled(), { pods: [podOn(undefined)] }, 'nothing'],
    ['whose pod was created with a node', unscheduled(), { pods: [podOn(undefined), podOn('n2')] }, 'provision'],
    ['that is going', going(aClaim()), {}, 'nothing'],
    ['whose class is not there', aClaim(), { storageClass: undefined }, 'nothing'],
    ['whose class is of another driver', aClaim(), { storageClass: ofAnother }, 'nothing'],
    ['that another driver was asked for', aClaim({ [PROVISIONER]: 'example.com/disk' }), {}, 'nothing'],
    ['that names its volume', aClaim({}, { volumeName: 'mine' }), {}, 'nothing'],
    ['of a class of another name, before a provisioner is set', aClaim({}, { storageClassName: 'other' }), {}, 'nothing'],
    ['of a class of another name', aClaim({ [PROVISIONER]: DRIVER }, { storageClassName: 'other' }), {}, 'provision'],
    ['that waits for no pod, while a volume may be found', unscheduled(), { storageClass: immediate }, 'nothing'],
    ['that waits for no pod', aClaim({ [SELECTED]: '', [PROVISIONER]: DRIVER }), { storageClass: immediate }, 'provision'],
    ['whose volume was made', aClaim(), { volume: aVolume('Pending') }, 'name'],
    [
      'whose volume kube-controller-manager has not looked at',
      aClaim({}, { volumeName: 'pvc-c1' }),
      { volume: aVolume('Pending') },
      'nothing',
    ],
    ['whose volume was taken away before it was bound', aClaim({}, { volumeName: 'pvc-c1' }), {}, 'provision'],
    ['whose volume kube-controller-manager knows', aClaim(), { volume: aVolume('Bound') }, 'bind'],
    ['that names it already', aClaim({}, { volumeName: 'pvc-c1' }), { volume: aVolume('Bound') }, 'bind'],
    [
      'that is bound for the scheduler only',
      aClaim({ [COMPLETED]: 'yes' }, { volumeName: 'pvc-c1' }),
      { volume: aVolume('Bound') },
      'bind',
    ],
    ['that was bound to another volume', aClaim({}, { volumeName: 'mine' }), { volume: aVolume('Bound') }, 'nothing'],
    ['whose volume is of a former claim', aClaim(), { volume: aVolume('Bound', { uid: 'c0' }) }, 'nothing'],
    ['whose volume is going', aClaim(), { volume: aVolume('Bound', { metadata: { deletionTimestamp: 'now' } }) }, 'nothing'],
    ['that is going, with a volume', going(aClaim()), { volume: aVolume('Bound') }, 'nothing'],
  ] satisfies readonly (readonly [string, PersistentVolumeClaim, Partial<Parameters<typeof nextStep>[1]>, string])[]) {
    it(`${what}: ${step}`, () => {
      assert.equal(nextStep(claim, { storageClass: aStorageClass(), volume: undefined, pods: [], ...around }).do, step);
    });
  }

  it('is taken on the node that the scheduler selected, else on that of a pod which the scheduler does not see', () => {
    const around = { storageClass: aStorageClass(), volume: undefined, pods: [podOn('n2')] };
    assert.partialDeepStrictEqual(nextStep(aClaim(), around), { do: 'provision', node: 'n1' });
    assert.partialDeepStrictEqual(nextStep(unscheduled(), around), { do: 'provision', node: 'n2' });
  });

  it('is nothing for what is bound or lost, so of these at most the name of a class or a Listener is kept', () => {
    const bound = { ...aClaim({ [COMPLETED]: 'yes' }, { volumeName: 'pvc-c1' }), status: { phase: 'Bound' } };
    assert.equal(keptClaim({ ...bound, metadata: { ...bound.metadata, annotations: { [COMPLETED]: 'yes' } } }), undefined);
    const { annotations } = keptClaim(bound)?.metadata ?? {};
    assert.deepEqual(annotations, { [LISTENER_CLASS_ANNOTATION]: 'some-class', [COMPLETED]: 'yes' });
    assert.equal(keptClaim({ ...aClaim(), status: { phase: 'Lost' } }), undefined);
    assert.equal(keptClaim({ ...bound, status: { phase: 'Pending' } })?.metadata.uid, 'c1');
  });
});

describe('the node of a pinned volume that no claim waits for', () => {
  const nodes = [aDriverNode('a'), aDriverNode('b'), aDriverNode('c'), { metadata: { name: 'd' } }];

  it('is another one for each replica, of those where the driver runs', () => {
    const taken = ['web-0', 'web-1', 'web-2'].map((name) => spreadNode(name, immediate, nodes));
    assert.deepEqual(taken.toSorted(), ['a', 'b', 'c']);
    assert.equal(spreadNode('web-0', immediate, nodes.toReversed()), taken[0], 'in whatever order the nodes come');
  });

  it('is one that the StorageClass allows', () => {
    const allowedTopologies = [{ matchLabelExpressions: [{ key: 'listeners.stackable.tech/hostname', values: ['b', 'd'] }] }];
    assert.equal(spreadNode('web-5', { ...immediate, allowedTopologies }, nodes), 'b');
    assert.equal(spreadNode('web', immediate, []), undefined);
  });
});

describe('a volume', () => {
  const retained = { spec: { persistentVolumeReclaimPolicy: 'Retain' } };
  for (const [what, volume, step] of [
    ['in use', aVolume('Bound', { metadata: { finalizers: [FINALIZER] } }), 'nothing'],
    ['whose claim is gone', aVolume('Released'), 'delete'],
    ['that the sidecar made, whose claim is gone', aVolume('Released', { metadata: { finalizers: [FINALIZER] } }), 'delete'],
    [
      'that goes, and waits for the sidecar',
      aVolume('Released', { metadata: { finalizers: [FINALIZER], deletionTimestamp: 'now' } }),
      'unprotect',
    ],
    ['that goes', aVolume('Released', { metadata: { finalizers: ['kubernetes.io/pv-protection'], deletionTimestamp: 'now' } }), 'nothing'],
    ['that is to stay', aVolume('Released', retained), 'nothing'],
    [
      'that is to stay, and waited for the sidecar',
      aVolume('Released', { ...retained, metadata: { finalizers: [FINALIZER] } }),
      'unprotect',
    ],
    ['of another driver', aVolume('Released', { spec: { csi: { driver: 'example.com', volumeHandle: 'x' } } }), 'nothing'],
    [
      'that another provisioner made',
      aVolume('Released', { metadata: { annotations: { 'pv.kubernetes.io/provisioned-by': 'example.com' } } }),
      'nothing',
    ],
  ] satisfies readonly (readonly [string, PersistentVolume, string])[]) {
    it(`${what}: ${step}`, () => assert.equal(reclaimStep(volume), step));
  }
});
