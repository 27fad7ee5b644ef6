/** Kinds that the site controller caches besides Earshot's own, each reduced to the fields that rules read. */
import {
  annotation,
  CONTROL_CONFIG,
  label,
  NETWORK_STATUS,
  RECORDS,
  RENEWALS,
  ROUTER,
  SECOND_ROUTER,
  SITE_UID,
} from '../api/skupper/cluster-names.ts';
import { GROUP } from '../api/skupper/names.ts';
import { networkObservers } from '../api/skupper/network-observer.ts';
import { accessKinds, ofAccess } from './access/kinds.ts';
import type { ConfigMap, KubeObject, ObjectMeta, Pod, Secret, Service, StringMap } from '../kube/objects.ts';
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
import { PASSWORD_KEY } from './observer/observer-names.ts';
import { isOfObserver, observerName } from './observer/observer-spec.ts';
import { withoutData } from './secret-data.ts';
import { isBundleType } from './site/bundle-type.ts';
import { TEMPLATE_KEYS } from './site/label-templates.ts';
import { isOurs } from './site/own-objects.ts';
import { SIZE_KEYS } from './site/size.ts';

export interface Kept {
  readonly of: Resource;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly project?: (object: KubeObject) => KubeObject | undefined;
  /** True for a kind of an API that a cluster may lack. */
  readonly optional?: true;
}

/**
 * Editors of a namespace choose names, labels and content. So an object that no rule reads is dropped, or costs less than 1 KiB
 * (`test/unit/site-controller/unused-objects.test.ts`).
 */
export const keptObjects: readonly Kept[] = [
  { of: deployments, labelSelector: label.component, project: named(ROUTER, SECOND_ROUTER) },
  // Each project function receives objects of its own kind only.
  { of: services, project: (object) => keptService(object) },
  { of: pods, labelSelector: `${label.component}=router`, project: (object) => routerPod(object as Pod) },
  { of: secrets, project: (object) => keptSecret(object as Secret) },
  { of: configMaps, project: (object) => keptConfigMap(object as ConfigMap) },
  {
    of: endpointSlices,
    labelSelector: label.attached,
    project: (object) => (object.metadata.annotations?.[annotation.controlled] === 'true' ? withoutManagement(object) : undefined),
  },
  { of: serviceAccounts, project: named(ROUTER) },
  { of: roles, project: named(ROUTER) },
  { of: roleBindings, project: named(ROUTER) },
  { of: podDisruptionBudgets, project: named(ROUTER) },
  ...accessKinds.map((of): Kept => ({ of, optional: true, project: ofAccess })),
  { of: networkObservers, optional: true, project: withoutManagement },
];

/** Whether the labels of the object are those that its kind is watched by. */
export function isWatched(of: Resource, { metadata: { labels = {} } }: KubeObject): boolean {
  const [key, value] = keptObjects.find((kept) => kept.of === of)?.labelSelector?.split('=') ?? [];
  return key === undefined || (Object.hasOwn(labels, key) && (value === undefined || labels[key] === value));
}

/** kubectl's copy of the object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Drops long fields that are never read. */
export function withoutManagement<T extends KubeObject>(object: T): T {
  const { managedFields: _, annotations, ...metadata } = object.metadata;
  if (annotations?.[LAST_APPLIED] === undefined)
    return { ...object, metadata: { ...metadata, ...(annotations === undefined ? {} : { annotations }) } };
  const { [LAST_APPLIED]: _copy, ...others } = annotations;
  return { ...object, metadata: { ...metadata, annotations: others } };
}

/** Objects of routers, and those of consoles. Other objects with the name of a console keep only their name: it is taken. */
function named(...names: readonly string[]): (object: KubeObject) => KubeObject | undefined {
  return (object) => {
    const { name = '' } = object.metadata;
    if (names.includes(name) || isOfObserver(object)) return withoutManagement(object);
    return observerName(name) === name ? { metadata: identityOf(object.metadata) } : undefined;
  };
}

/**
 * A foreign Service keeps only its name and owners, unless a label assigns it to listeners. That of an exposed Listener keeps its selector
 * too: it selects the pods of an access.
 */
function keptService(object: Service): Service {
  const { labels = {}, ownerReferences, deletionTimestamp } = object.metadata;
  if (isOurs(object) || labels[label.listener] !== undefined) return withoutManagement(object);
  const selector = ownerReferences?.some(({ kind }) => kind === 'Listener') === true ? object.spec?.selector : undefined;
  return {
    metadata: {
      ...identityOf(object.metadata),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    ...(selector === undefined ? {} : { spec: { selector } }),
  };
}

/** Keeps the pod's state and the UID of its Site. */
function routerPod({ metadata, spec, status }: Pod): Pod | undefined {
  const { labels, deletionTimestamp } = metadata;
  if (labels?.[label.type] !== 'site') return undefined;
  const { phase, conditions, containerStatuses } = status ?? {};
  const containers = (spec?.containers ?? []).map(({ name, env = [] }) => ({ name, env: env.filter((each) => each.name === SITE_UID) }));
  return {
    metadata: {
      ...identityOf(metadata),
      labels: only(labels, [label.type]),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: { containers: containers.filter(({ env }) => env.length > 0) },
    status: {
      ...(phase === undefined ? {} : { phase }),
      ...(conditions === undefined ? {} : { conditions }),
      ...(containerStatuses === undefined ? {} : { containerStatuses }),
    },
  };
}

/**
 * Keeps data only if every reconcile reads it: a site's records, and the Secrets of Certificates. `loadSecret` reads the others on use. A
 * foreign Secret keeps its owners and its type, which decides whether routers may read it.
 */
function keptSecret(object: Secret): KubeObject | undefined {
  const { apiVersion, kind, type, data = {}, metadata } = object;
  const { name = '', ownerReferences } = metadata;
  const isOfCertificate = ownerReferences?.some((owner) => owner.kind === 'Certificate' && owner.name === name && isOfGroup(owner));
  if (RECORDS.has(name) || isOfCertificate === true) return withoutManagement(object);
  if (isOurs(object)) return withoutData(withoutManagement(object));
  const hasUsers = data[PASSWORD_KEY] !== undefined;
  const mayHoldBundle = type === 'kubernetes.io/tls' || data['ca.crt'] !== undefined || data['tls.crt'] !== undefined;
  // A cached Secret without a type counts as readable by routers.
  if (!hasUsers && !mayHoldBundle && isBundleType(type)) return undefined;
  const kept: Secret = {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    ...(type === undefined ? {} : { type }),
    metadata: { ...identityOf(metadata), ...(ownerReferences === undefined ? {} : { ownerReferences }) },
  };
  return withoutData(kept);
}

function isOfGroup({ apiVersion }: { readonly apiVersion: string }): boolean {
  return apiVersion.startsWith(`${GROUP}/`);
}

const CONFIG_MAPS: ReadonlySet<string> = new Set([CONTROL_CONFIG, ROUTER, SECOND_ROUTER, NETWORK_STATUS, RENEWALS]);

/** Label templates and sizes may have any name. Only a few of their keys are read. */
function keptConfigMap(object: ConfigMap): KubeObject | undefined {
  const { name = '', labels = {} } = object.metadata;
  if (CONFIG_MAPS.has(name)) return withoutManagement(object);
  if (labels[label.labelTemplate] === undefined && labels[label.siteSizing] === undefined) return undefined;
  const { metadata } = withoutManagement(object);
  const kept: ConfigMap = { metadata, data: only(object.data ?? {}, [...TEMPLATE_KEYS, ...SIZE_KEYS]) };
  return kept;
}

function only(map: StringMap, keys: readonly string[]): StringMap {
  return Object.fromEntries(keys.flatMap((key) => (map[key] === undefined ? [] : [[key, map[key]]])));
}

function identityOf({ name, namespace, uid, resourceVersion }: ObjectMeta): ObjectMeta {
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
