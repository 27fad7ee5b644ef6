/** The kinds that the controller of sites keeps besides Earshot's own, each cut down to what rules read. */
import { label } from '../api/skupper/cluster-names.ts';
import { accessKinds, ofAccess } from './access/kinds.ts';
import { isBundleType } from './site/bundle-type.ts';
import type { KubeObject, Secret } from '../kube/objects.ts';
import {
  configMaps,
  deployments,
  endpointSlices,
  podDisruptionBudgets,
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

/** Labels by which rules find an object of any name. */
const USED = [label.labelTemplate, label.siteSizing, label.component, label.routerConfig] as const;

export const keptObjects: readonly Kept[] = [
  { of: deployments, labelSelector: `${label.component}=router` },
  { of: services },
  { of: pods, labelSelector: `${label.component}=router` },
  { of: secrets, project: (object) => withoutForeignData(object as Secret) },
  { of: configMaps, project: named },
  { of: endpointSlices, labelSelector: label.attached },
  { of: serviceAccounts, project: named },
  { of: roles, project: named },
  { of: roleBindings, project: named },
  { of: podDisruptionBudgets, project: named },
  ...accessKinds.map((of): Kept => ({ of, optional: true, project: ofAccess })),
];

/** A Secret that is neither for TLS nor a site's is kept without its data, and only where its type tells that no router may read it. */
function withoutForeignData(object: Secret): KubeObject | undefined {
  const { type, data = {} } = object;
  if (type === 'kubernetes.io/tls' || data['ca.crt'] !== undefined || data['tls.crt'] !== undefined) return whole(object);
  return named(object) ?? (isBundleType(type) ? undefined : typeOnly(object));
}

function typeOnly({ apiVersion, kind, type, metadata }: Secret): KubeObject {
  const { namespace, name, uid, resourceVersion } = metadata;
  const kept: Secret = {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    metadata: {
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    ...(type === undefined ? {} : { type }),
  };
  return kept;
}

function named(object: KubeObject): KubeObject | undefined {
  const { name = '', labels = {} } = object.metadata;
  return name.startsWith(OURS) || USED.some((key) => labels[key] !== undefined) ? whole(object) : undefined;
}

function whole(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
