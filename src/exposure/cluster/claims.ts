/** What a PersistentVolumeClaim tells by itself, in annotations that are Kubernetes' own (component-helpers, storage/volume). */
import { LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION } from '../../api/listeners/names.ts';
import { identityOf } from './identity.ts';
import type { PersistentVolume, PersistentVolumeClaim, StringMap } from '../../kube/objects.ts';

/** The node that the scheduler chose for the pod which waits for the claim. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/** Binding is complete: what the scheduler waits for. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
/** A program bound the claim, no person: it may be said anew. */
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
const STORAGE_PROVISIONER_BETA = 'volume.beta.kubernetes.io/storage-provisioner';
const STORAGE_CLASS_BETA = 'volume.beta.kubernetes.io/storage-class';

const KEPT: ReadonlySet<string> = new Set([
  SELECTED_NODE,
  BIND_COMPLETED,
  STORAGE_PROVISIONER,
  STORAGE_PROVISIONER_BETA,
  STORAGE_CLASS_BETA,
  LISTENER_CLASS_ANNOTATION,
  LISTENER_NAME_ANNOTATION,
]);

/** They say what the claim's volume is created for. */
const NAMING = [LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION] as const;

/** Names of annotations that may be meant for this driver. */
const MISTYPED = /^[^/]*listener[^/]*\/|\/listener/i;

/** Bound for the scheduler (annotation) and for the kubelet (phase). */
export function isBound({ metadata, spec, status }: PersistentVolumeClaim): boolean {
  return isGiven(spec?.volumeName) && status?.phase === 'Bound' && Object.hasOwn(metadata.annotations ?? {}, BIND_COMPLETED);
}

/** The name of its StorageClass; empty where it has none. */
export function storageClassOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.[STORAGE_CLASS_BETA] ?? spec?.storageClassName ?? '';
}

/** Who shall make a volume for it, once kube-controller-manager has found that there is none. */
export function provisionerOf({ metadata }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[STORAGE_PROVISIONER] ?? metadata.annotations?.[STORAGE_PROVISIONER_BETA];
}

export function selectedNodeOf({ metadata }: PersistentVolumeClaim): string | undefined {
  const node = metadata.annotations?.[SELECTED_NODE];
  return isGiven(node) ? node : undefined;
}

/** The volume that is made for a claim: one name for each claim, so that two provisioners cannot make two. */
export function volumeNameFor({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid}`;
}

/**
 * Of claims that are bound, which is most, only those that name a Listener or a class are kept, and of them only that: nothing is left to do
 * for them but to notice that the name was changed. Claims that lost their volume are not kept.
 */
export function keptClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim | undefined {
  if (claim.status?.phase === 'Lost') return undefined;
  const { annotations = {}, deletionTimestamp } = claim.metadata;
  const metadata = identityOf(claim.metadata);
  if (!isBound(claim)) {
    // Of some only that they are there.
    const mistyped = Object.keys(annotations).filter((key) => MISTYPED.test(key));
    const kept = { ...Object.fromEntries(mistyped.map((key) => [key, ''])), ...only(annotations, [...KEPT]) };
    const { selector, ...spec } = claim.spec ?? {};
    const { phase } = claim.status ?? {};
    return {
      metadata: {
        ...metadata,
        ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
        ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
      },
      spec: { ...spec, ...(selector === undefined || selector === null ? {} : { selector: {} }) },
      ...(phase === undefined ? {} : { status: { phase } }),
    };
  }
  if (NAMING.every((key) => annotations[key] === undefined)) return undefined;
  return {
    metadata: { ...metadata, annotations: only(annotations, [...NAMING, BIND_COMPLETED]) },
    spec: { volumeName: claim.spec?.volumeName ?? '' },
    status: { phase: 'Bound' },
  };
}

/**
 * The annotation of a bound claim that says something else than its volume, which was created by it and decides.
 * @returns undefined where they say the same
 */
export function annotationWithoutEffect(
  { metadata }: PersistentVolumeClaim,
  volume: PersistentVolume,
): { readonly annotation: string; readonly value: string; readonly inForce: string } | undefined {
  const attributes = volume.spec?.csi?.volumeAttributes ?? {};
  const [inForce] = NAMING.flatMap((key) => attributes[key] ?? []);
  for (const annotation of NAMING) {
    const value = metadata.annotations?.[annotation];
    if (value !== undefined && inForce !== undefined && attributes[annotation] !== value) return { annotation, value, inForce };
  }
  return undefined;
}

export function only(all: StringMap, keys: readonly string[]): StringMap {
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(all, key) ? [[key, all[key] ?? '']] : [])));
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
