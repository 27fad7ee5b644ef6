import type {
  ConfigMap,
  Deployment,
  EndpointSlice,
  KubeObject,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
  StorageClass,
} from './objects.ts';

/** Description of a kind in the API, and (as a type only) of its objects. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never present at run time; carries the type. */
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

/** Name of a kind for users, as in `kubectl get`: `pods`, `listeners.skupper.io`. */
export function wholeName({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

export const services = resource<Service>('v1', 'Service', 'services');
export const nodes = resource<Node>('v1', 'Node', 'nodes', 'cluster');
export const pods = resource<Pod>('v1', 'Pod', 'pods');
export const persistentVolumes = resource<PersistentVolume>('v1', 'PersistentVolume', 'persistentvolumes', 'cluster');
export const persistentVolumeClaims = resource<PersistentVolumeClaim>('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims');
export const endpointSlices = resource<EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices');
export const storageClasses = resource<StorageClass>('storage.k8s.io/v1', 'StorageClass', 'storageclasses', 'cluster');
export const deployments = resource<Deployment>('apps/v1', 'Deployment', 'deployments');
export const configMaps = resource<ConfigMap>('v1', 'ConfigMap', 'configmaps');
export const secrets = resource<Secret>('v1', 'Secret', 'secrets');
export const serviceAccounts = resource<KubeObject>('v1', 'ServiceAccount', 'serviceaccounts');
export const roles = resource<Role>('rbac.authorization.k8s.io/v1', 'Role', 'roles');
export const roleBindings = resource<RoleBinding>('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings');
export const podDisruptionBudgets = resource<PodDisruptionBudget>('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets');
