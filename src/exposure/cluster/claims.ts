/** Reads Kubernetes' own annotations of a PersistentVolumeClaim (component-helpers, storage/volume). */
import { LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION } from '../../api/listeners/names.ts';
import { identityOf } from './identity.ts';
import type { PersistentVolume, PersistentVolumeClaim, StringMap } from '../../kube/objects.ts';

/** The node that the scheduler chose for the pod that waits for the claim. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/** Binding is complete. The scheduler waits for this. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
/** A controller, not a user, bound the claim, so the binding may be written again. */
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

/** Annotations that name the Listener or class of the claim's volume. */
const NAMING = [LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION] as const;

/** Names of annotations that may be misspelled ones of this driver. */
const MISTYPED = /^[^/]*listener[^/]*\/|\/listener/i;

/** Whether the claim is bound for the scheduler (annotation) and for the kubelet (phase). */
export function isBound({ metadata, spec, status }: PersistentVolumeClaim): boolean {
  return isGiven(spec?.volumeName) && status?.phase === 'Bound' && Object.hasOwn(metadata.annotations ?? {}, BIND_COMPLETED);
}

/** Name of the claim's StorageClass, or an empty string. */
export function storageClassOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.[STORAGE_CLASS_BETA] ?? spec?.storageClassName ?? '';
}

/** The provisioner of the claim, set by kube-controller-manager once it found no existing volume. */
export function provisionerOf({ metadata }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[STORAGE_PROVISIONER] ?? metadata.annotations?.[STORAGE_PROVISIONER_BETA];
}

export function selectedNodeOf({ metadata }: PersistentVolumeClaim): string | undefined {
  const node = metadata.annotations?.[SELECTED_NODE];
  return isGiven(node) ? node : undefined;
}

/** Name of the volume for a claim. It is fixed for each claim, so two provisioners cannot create two volumes. */
export function volumeNameFor({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid}`;
}

/**
 * Reduces a claim for the cache. Most claims are bound. Of these only claims that name a Listener or class are kept, reduced to
 * these annotations, to notice a change of the name. Claims that lost their volume are not kept.
 */
export function keptClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim | undefined {
  if (claim.status?.phase === 'Lost') return undefined;
  const { annotations = {}, deletionTimestamp } = claim.metadata;
  const metadata = identityOf(claim.metadata);
  if (!isBound(claim)) {
    // Misspelled annotations are kept without their values.
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
 * The annotation of a bound claim that differs from its volume. The volume was created from the annotation and takes precedence.
 * @returns undefined if they agree
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
