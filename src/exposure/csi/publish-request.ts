import {
  EPHEMERAL_CONTEXT,
  LISTENER_CLASS_ANNOTATION,
  POD_NAMESPACE_CONTEXT,
  POD_NAME_CONTEXT,
  POD_UID_CONTEXT,
} from '../../api/listeners/names.ts';
import { BLOCK } from '../provision/volume-request.ts';
import { CsiError } from './errors.ts';
import type { NodePublishVolumeRequest } from './generated/csi.ts';
import { parseTarget, type Target } from './target-path.ts';
import { isOneLine } from '../../text/printable.ts';

export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A validated NodePublishVolume request. */
export interface PublishRequest {
  readonly handle: string;
  readonly target: Target;
  readonly pod: PodIdentity;
}

/** Throws csi-request, csi-unsupported, csi-installation or csi-target. */
export function parsePublish(request: NodePublishVolumeRequest, kubeletDir: string): PublishRequest {
  const { volumeId, targetPath, volumeCapability, volumeContext } = request;
  const handle = parseHandle(volumeId);
  if (targetPath === '') throw new CsiError('csi-request', 'target_path is missing.');
  if (volumeCapability === undefined) throw new CsiError('csi-request', 'volume_capability is missing.');
  if (volumeCapability.accessType?.$case === 'block') throw new CsiError('csi-unsupported', BLOCK);
  if (volumeContext.get(EPHEMERAL_CONTEXT) === 'true') throw new CsiError('csi-unsupported', INLINE);
  const pod = {
    namespace: volumeContext.get(POD_NAMESPACE_CONTEXT) ?? '',
    name: volumeContext.get(POD_NAME_CONTEXT) ?? '',
    uid: volumeContext.get(POD_UID_CONTEXT) ?? '',
  };
  if (pod.namespace === '' || pod.name === '' || pod.uid === '') {
    throw new CsiError(
      'csi-installation',
      'The kubelet did not name the pod of this volume: the CSIDriver object must have spec.podInfoOnMount: true. ' +
        'Install it again with the chart.',
    );
  }
  const target = parseTarget(kubeletDir, targetPath);
  if (target.podUid !== pod.uid) {
    throw new CsiError('csi-target', `target_path belongs to the pod ${target.podUid}, the volume context to the pod ${pod.uid}.`);
  }
  return { handle, target, pod };
}

/** Validates a volume handle, which becomes a key of an object and part of messages. CSI limits strings to 128 bytes. */
export function parseHandle(volumeId: string, field: 'volume_id' | 'name' = 'volume_id'): string {
  if (volumeId === '') throw new CsiError('csi-request', `${field} is missing.`);
  if (volumeId.length > 253 || !isOneLine(volumeId)) {
    throw new CsiError('csi-request', `${field} has more than 253 characters, or control characters among them.`);
  }
  return volumeId;
}

const INLINE =
  'A listener volume cannot be an inline one (volumes[].csi), because its address lives as long as a PersistentVolumeClaim. ' +
  'Use volumes[].ephemeral.volumeClaimTemplate for an address that ends with the pod, or volumeClaimTemplates of a StatefulSet ' +
  `for one that stays; in both the annotation ${LISTENER_CLASS_ANNOTATION} names the ListenerClass.`;
