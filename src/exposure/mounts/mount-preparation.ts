/** What a mount needs before it can be answered: its Listener, and the labels by which traffic finds the pod. */
import { LISTENER_NAMESPACE_LABEL, LISTENER_NAME_LABEL, podLabelOf } from '../../api/listeners/names.ts';
import { listeners, type Listener } from '../../api/listeners/index.ts';
import type { KubeClient } from '../../kube/contract.ts';
import type { PersistentVolume, Pod } from '../../kube/objects.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../kube/resource.ts';
import type { FreshView } from '../../kube/watch/fresh-view.ts';
import { isListenerCurrent, isOwnedByVolume, planVolumeListener, type VolumeTarget, type Waiting } from './mount-plan.ts';

export interface MountPreparation {
  /** The Listener of a volume that names a class, made or brought up to date. */
  ensureListener(
    target: VolumeTarget & { readonly kind: 'class' },
    known: Listener | undefined,
    volume: PersistentVolume,
    pod: Pod,
    signal: AbortSignal,
  ): Promise<Listener | { readonly waiting: Waiting }>;
  /** The volume tells which Listener it is part of, the pod is what the Service selects. */
  label(listener: Listener, volume: PersistentVolume, pod: Pod, signal: AbortSignal): Promise<void>;
}

export function mountPreparation(client: KubeClient, view: FreshView<Listener>): MountPreparation {
  return {
    async ensureListener(target, known, volume, pod, signal) {
      const { namespace, name } = target;
      if (known !== undefined && !isOwnedByVolume(known, volume)) return { waiting: notOurs(known) };
      const claim = await client.find(persistentVolumeClaims, { namespace, name }, { signal });
      if (claim === undefined || claim.metadata.uid !== volume.spec?.claimRef?.uid) {
        const message = `PersistentVolumeClaim ${namespace}/${name}, which PersistentVolume ${volume.metadata.name} is bound to, does not exist any more.`;
        return { waiting: { reason: 'ClaimNotFound', message } };
      }
      const wanted = planVolumeListener(target, { volume, claim, pod });
      if (known !== undefined && isListenerCurrent(wanted, known)) return known;
      // Without a known one it must not exist either: resource version 1 is no object's, so an existing one conflicts.
      const precondition = known === undefined ? { resourceVersion: '1' } : { uid: known.metadata.uid ?? '' };
      const applied = await client.apply(listeners, { ...wanted, metadata: { ...wanted.metadata, ...precondition } }, { signal });
      view.wrote(applied);
      return applied;
    },

    async label(listener, volume, pod, signal) {
      const { namespace = '', name = '', uid = '' } = listener.metadata;
      const [key, value] = podLabelOf({ name, uid });
      const ofVolume = { [LISTENER_NAMESPACE_LABEL]: namespace, [LISTENER_NAME_LABEL]: name };
      await Promise.all([
        hasLabels(volume, ofVolume)
          ? undefined
          : client.patch(persistentVolumes, { name: volume.metadata.name ?? '' }, labelPatch(volume, ofVolume), { type: 'merge', signal }),
        hasLabels(pod, { [key]: value })
          ? undefined
          : client.patch(
              pods,
              { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name ?? '' },
              labelPatch(pod, { [key]: value }),
              { type: 'merge', signal },
            ),
      ]);
    },
  };
}

function notOurs(listener: Listener): Waiting {
  const { namespace, name, ownerReferences = [] } = listener.metadata;
  if (ownerReferences.some(({ kind }) => kind === 'PersistentVolume')) {
    const message = `Listener ${namespace}/${name} belongs to an earlier volume of this claim's name and is being removed.`;
    return { reason: 'ListenerBeingReplaced', message };
  }
  const message = `Listener ${namespace}/${name} exists and was not made for this volume. Rename the claim, or mount that Listener with the annotation listener-name.`;
  return { reason: 'ListenerNotOwned', message };
}

function hasLabels(object: PersistentVolume | Pod, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => object.metadata.labels?.[key] === value);
}

/** The uid makes the patch fail on a successor of the same name. */
function labelPatch(object: PersistentVolume | Pod, labels: Readonly<Record<string, string>>): unknown {
  return { metadata: { uid: object.metadata.uid, labels } };
}
