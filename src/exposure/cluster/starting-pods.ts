/** What is kept of a pod that has not started yet, and what it says about its volumes. */
import { podListenersName } from '../../api/listeners/names.ts';
import { identityOf } from './identity.ts';
import type { KeyString } from '../../kube/contract.ts';
import type { Container, Pod, PodVolume } from '../../kube/objects.ts';

/**
 * The API server tells of these only: a pod waits for its volumes in this phase, and leaves it with the start of its first
 * container. So the watch costs what starts, not what runs.
 */
export const STARTING_PODS = 'status.phase=Pending';

/** Undefined for one that mounts no claim, or has started. */
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

/** A generic ephemeral volume's claim is called after pod and volume (Pod.spec.volumes[].ephemeral). */
export function claimNameOf(volume: PodVolume, podName: string): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? undefined : `${podName}-${volume.name}`;
}

/** Key of the PodListeners of a pod. */
export function requestKeyOf({ metadata }: Pod): KeyString {
  return `${metadata.namespace}/${podListenersName(metadata.uid ?? '')}`;
}
