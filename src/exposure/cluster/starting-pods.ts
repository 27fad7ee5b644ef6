/** The part of a pod that is cached until it starts, and its volumes. */
import { podListenersName } from '../../api/listeners/names.ts';
import { identityOf } from './identity.ts';
import type { KeyString } from '../../kube/contract.ts';
import type { Container, Pod, PodVolume } from '../../kube/objects.ts';

/**
 * Field selector of pods that have not started. A pod waits for its volumes in this phase and leaves it when its first container
 * starts. So the cost of the watch depends on starting pods, not on running ones.
 */
export const STARTING_PODS = 'status.phase=Pending';

/** Returns undefined for a pod that mounts no claim or has started. */
export function startingPod(pod: Pod): Pod | undefined {
  const { labels, deletionTimestamp } = pod.metadata;
  const { nodeName, containers = [], initContainers = [], volumes = [] } = pod.spec ?? {};
  const claimed = volumes.filter((volume) => claimNameOf(volume, '') !== undefined);
  if (claimed.length === 0 || (pod.status?.phase ?? 'Pending') !== 'Pending') return undefined;
  return {
    metadata: {
      ...identityOf(pod.metadata),
      ...(labels === undefined ? {} : { labels }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: containers.map(portsOnly),
      initContainers: initContainers.map(portsOnly),
      volumes: claimed.map(({ name: volume, persistentVolumeClaim, ephemeral }) => ({
        name: volume,
        ...(persistentVolumeClaim === undefined ? {} : { persistentVolumeClaim: { claimName: persistentVolumeClaim.claimName } }),
        ...(ephemeral === undefined ? {} : { ephemeral: {} }),
      })),
    },
  };
}

function portsOnly({ name, ports, restartPolicy }: Container): Container {
  return { name, ...(ports === undefined ? {} : { ports }), ...(restartPolicy === undefined ? {} : { restartPolicy }) };
}

/** Keys of the claims that a pod mounts. */
export function claimsOf({ metadata, spec }: Pod): readonly KeyString[] {
  const names = (spec?.volumes ?? []).flatMap((volume) => claimNameOf(volume, metadata.name ?? '') ?? []);
  return [...new Set(names)].map((name) => `${metadata.namespace}/${name}`);
}

/** The claim of a generic ephemeral volume is named after pod and volume (Pod.spec.volumes[].ephemeral). */
export function claimNameOf(volume: PodVolume, podName: string): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? undefined : `${podName}-${volume.name}`;
}

/** Key of the PodListeners of a pod. */
export function requestKeyOf({ metadata }: Pod): KeyString {
  return `${metadata.namespace}/${podListenersName(metadata.uid ?? '')}`;
}
