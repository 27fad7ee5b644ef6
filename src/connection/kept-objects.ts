/** The kinds that the controller of sites keeps besides Earshot's own, each cut down to what rules read. */
import { label } from '../api/skupper/cluster-names.ts';
import { accessKinds, ofAccess } from './access/kinds.ts';
import type { KubeObject, Secret } from '../kube/objects.ts';
import {
  configMaps,
  deployments,
  endpointSlices,
  pods,
  roleBindings,
  roles,
  secrets,
  serviceAccounts,
  services,
  type Resource,
} from '../kube/resource.ts';

export interface Kept {
  readonly of: Resource;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly project?: (object: KubeObject) => KubeObject | undefined;
  /** Of an API that a cluster need not have. */
  readonly optional?: true;
}

/** What a site has of these is called so. */
const OURS = 'skupper';

export const keptObjects: readonly Kept[] = [
  { of: deployments, labelSelector: `${label.component}=router` },
  { of: services },
  { of: pods, labelSelector: `${label.component}=router` },
  { of: secrets, project: (object) => tlsOnly(object as Secret) },
  { of: configMaps, project: named },
  { of: endpointSlices, labelSelector: label.attached },
  { of: serviceAccounts, project: named },
  { of: roles, project: named },
  { of: roleBindings, project: named },
  ...accessKinds.map((of): Kept => ({ of, optional: true, project: ofAccess })),
];

/** What is neither of TLS nor a site's is nobody's business here. */
function tlsOnly(object: Secret): KubeObject | undefined {
  return object.type === 'kubernetes.io/tls' || object.data?.['ca.crt'] !== undefined ? whole(object) : named(object);
}

function named(object: KubeObject): KubeObject | undefined {
  const { name = '', labels = {} } = object.metadata;
  return name.startsWith(OURS) || Object.keys(labels).some((key) => key.includes('skupper.io/')) ? whole(object) : undefined;
}

function whole(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
