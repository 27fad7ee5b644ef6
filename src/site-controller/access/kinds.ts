/** Kinds that provide access, from APIs that a cluster may lack. */
import { annotation, label } from '../../api/skupper/cluster-names.ts';
import type { KubeObject, LoadBalancerIngress } from '../../kube/objects.ts';
import { resource, type Resource } from '../../kube/resource.ts';
import { listeners } from '../../api/listeners/index.ts';
import { foreignController } from '../../site/foreign-controller.ts';

export interface Route extends KubeObject {
  readonly spec?: unknown;
  readonly status?: { readonly ingress?: readonly { readonly host?: string }[] };
}

export interface Ingress extends KubeObject {
  readonly spec?: unknown;
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly LoadBalancerIngress[] } };
}

export interface Gateway extends KubeObject {
  readonly spec?: unknown;
  readonly status?: { readonly addresses?: readonly { readonly type?: string; readonly value?: string }[] };
}

/** A kind whose status is not read. */
interface Plain extends KubeObject {
  readonly spec?: unknown;
}

export const ingresses = resource<Ingress>('networking.k8s.io/v1', 'Ingress', 'ingresses');
export const routes = resource<Route>('route.openshift.io/v1', 'Route', 'routes');
export const httpProxies = resource<Plain>('projectcontour.io/v1', 'HTTPProxy', 'httpproxies');
export const gateways = resource<Gateway>('gateway.networking.k8s.io/v1', 'Gateway', 'gateways');
export const tlsRoutes = resource<Plain>('gateway.networking.k8s.io/v1', 'TLSRoute', 'tlsroutes');
/** The only served version before Gateway API 1.5. */
export const earlyTlsRoutes = resource<Plain>('gateway.networking.k8s.io/v1alpha2', 'TLSRoute', 'tlsroutes');

export const accessKinds: readonly Resource[] = [ingresses, routes, httpProxies, gateways, tlsRoutes, earlyTlsRoutes, listeners];

/** Only the identity of a foreign object counts: its name is taken. */
export function ofAccess(object: KubeObject): KubeObject {
  return isMade(object) ? object : { metadata: bare(object) };
}

/** Whether this or an earlier site controller created the object for a SecuredAccess. */
export function isMade({ metadata }: KubeObject): boolean {
  const { annotations = {}, labels = {}, ownerReferences = [] } = metadata;
  if (foreignController(metadata) !== undefined) return false;
  const controlled = annotations[annotation.controlled] === 'true' || labels[annotation.controlled] !== undefined;
  return controlled && (labels[label.securedAccess] !== undefined || ownerReferences.some(({ kind }) => kind === 'SecuredAccess'));
}

function bare({ metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject['metadata'] {
  return JSON.parse(JSON.stringify({ name, namespace, uid, resourceVersion })) as KubeObject['metadata'];
}
