import type { EndpointSlice, KubeObject, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service, StorageClass } from './objects.ts';

/** Where a kind of object lives in the API, and (as a type only) what one looks like. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never present at run time: it carries the type. */
  readonly object?: T;
}

export function resource<T extends KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  scope: 'namespaced' | 'cluster' = 'namespaced',
): Resource<T> {
  const slash = apiVersion.indexOf('/');
  return {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind,
    plural,
    namespaced: scope === 'namespaced',
  };
}

export function apiVersionOf(of: Resource): string {
  return of.group === '' ? of.version : `${of.group}/${of.version}`;
}

export const services = resource<Service>('v1', 'Service', 'services');
export const nodes = resource<Node>('v1', 'Node', 'nodes', 'cluster');
export const pods = resource<Pod>('v1', 'Pod', 'pods');
export const persistentVolumes = resource<PersistentVolume>('v1', 'PersistentVolume', 'persistentvolumes', 'cluster');
export const persistentVolumeClaims = resource<PersistentVolumeClaim>('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims');
export const endpointSlices = resource<EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices');
export const storageClasses = resource<StorageClass>('storage.k8s.io/v1', 'StorageClass', 'storageclasses', 'cluster');
