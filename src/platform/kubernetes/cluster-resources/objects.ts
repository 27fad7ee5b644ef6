/** Objects of a cluster, as commands use them. */
import { validateResource } from '../../../api/skupper/validate.ts';
import { annotation } from '../../../api/skupper/cluster-names.ts';
import type { Condition, KubeObject } from '../../../kube/objects.ts';
import type { Manifest } from '../../resources.ts';

export interface StoredObject extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Returns the object with the defaults of Earshot's schema in its spec. The status is omitted if it is about an earlier spec. */
export function takenUp(object: StoredObject): StoredObject {
  const { resource } = validateResource({ ...object, status: undefined });
  const { status, ...rest } = object;
  const spec = (resource?.spec ?? object.spec) as StoredObject['spec'] & object;
  const { generation = 0 } = object.metadata;
  const isOlder = (status?.conditions ?? []).some(({ observedGeneration }) => (observedGeneration ?? generation) < generation);
  return { ...rest, spec, ...(isOlder || status === undefined ? {} : { status }) };
}

/** Returns the object as a user would write and edit it. */
export function asManifest({ kind, ...object }: StoredObject & { readonly kind: string }): Manifest {
  const { status: _, apiVersion = 'v1', metadata, ...rest } = object;
  const { name = '', managedFields: _managed, ...others } = metadata;
  return { apiVersion, kind, metadata: { name, ...others }, ...rest };
}

export function isMadeByController({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[annotation.controlled] === 'true';
}
