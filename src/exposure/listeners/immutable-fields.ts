/**
 * Fields that the API server never changes on an existing Service. Pure. One of them in a patch makes it refuse the whole patch,
 * so they keep their value and the rest is applied.
 * Source: ValidateServiceUpdate and validateLoadBalancerClassField (k8s.io/kubernetes, pkg/apis/core/validation),
 * healthCheckNodePort in pkg/registry/core/service/storage.
 */
import type { Service } from '../../kube/objects.ts';
import { shownValue } from '../../text/printable.ts';
import { recordIntent, wasSet } from './service-patch.ts';

type Spec = NonNullable<Service['spec']>;

/** Fields that keep their value, and the desired value that is not applied. */
interface Kept {
  readonly fields: readonly (keyof Spec)[];
  /** The immutable field, for users. */
  readonly field: string;
  readonly stays: string | undefined;
  readonly desired: string | undefined;
}

/**
 * @param live the current Service
 * @returns the Service that can be applied, and a notice for each field that cannot change
 */
export function keepImmutable(intended: Service, live: Service): { readonly service: Service; readonly notices: readonly string[] } {
  const kept = [loadBalancerClass, clusterIP, primaryFamily, healthCheckNodePort].flatMap((rule) => rule(intended, live) ?? []);
  if (kept.length === 0) return { service: intended, notices: [] };
  const spec = new Map(Object.entries(intended.spec ?? {}));
  for (const field of kept.flatMap(({ fields }) => fields)) {
    const value = live.spec?.[field];
    if (value === undefined) spec.delete(field);
    else spec.set(field, value);
  }
  const service = recordIntent({ ...intended, spec: Object.fromEntries(spec) });
  return { service, notices: kept.map((each) => notice(each, live)) };
}

type Rule = (intended: Service, live: Service) => Kept | undefined;

/** Immutable while the type is LoadBalancer. A value set by another writer, such as a cloud's webhook, is not removed. */
const loadBalancerClass: Rule = (intended, live) => {
  if (intended.spec?.type !== 'LoadBalancer' || live.spec?.type !== 'LoadBalancer') return undefined;
  const [desired, stays] = [intended.spec.loadBalancerClass, live.spec.loadBalancerClass];
  if (desired === stays || (desired === undefined && !wasSet(live, 'loadBalancerClass'))) return undefined;
  return { fields: ['loadBalancerClass'], field: 'loadBalancerClass', stays, desired };
};

/** Includes a headless Service that should become an ordinary one: the API server silently keeps `None`. */
const clusterIP: Rule = (intended, live) => {
  if (isExternalName(intended, live)) return undefined;
  const stays = live.spec?.clusterIP ?? '';
  const desired = intended.spec?.clusterIP ?? intended.spec?.clusterIPs?.[0] ?? '';
  const isUnset = desired === '' && stays === 'None' && wasSet(live, 'clusterIP');
  if (stays === '' || desired === stays || (desired === '' && !isUnset)) return undefined;
  return { fields: ['clusterIP', 'clusterIPs'], field: 'clusterIP', stays, desired: desired === '' ? undefined : desired };
};

/** The first of `ipFamilies`. Policy and addresses are kept with it, because they must match. */
const primaryFamily: Rule = (intended, live) => {
  if (isExternalName(intended, live)) return undefined;
  const [stays] = live.spec?.ipFamilies ?? [];
  const [desired] = intended.spec?.ipFamilies ?? [];
  if (stays === undefined || desired === undefined || desired === stays) return undefined;
  return { fields: ['ipFamilies', 'ipFamilyPolicy', 'clusterIP', 'clusterIPs'], field: 'ipFamilies[0]', stays, desired };
};

const healthCheckNodePort: Rule = (intended, live) => {
  const isNeeded = [intended, live].every(({ spec }) => spec?.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local');
  const { healthCheckNodePort: stays = 0 } = live.spec ?? {};
  const { healthCheckNodePort: desired = 0 } = intended.spec ?? {};
  if (!isNeeded || stays === 0 || desired === 0 || desired === stays) return undefined;
  return { fields: ['healthCheckNodePort'], field: 'healthCheckNodePort', stays: `${stays}`, desired: `${desired}` };
};

function isExternalName(...services: readonly Service[]): boolean {
  return services.some(({ spec }) => spec?.type === 'ExternalName');
}

function notice({ field, stays, desired }: Kept, { metadata }: Service): string {
  const service = `Service ${metadata.namespace}/${metadata.name}`;
  const change = `${service}: Kubernetes cannot change spec.${field} from ${named(stays)} to ${named(desired)}`;
  return `${change}; the other changes are applied. Delete the Service: it is created again, and its address changes.`;
}

function named(value: string | undefined): string {
  return value === undefined ? 'none' : shownValue(value);
}
