import type { SecuredAccess } from '../../api/skupper/index.ts';
import type { Resource } from '../../kube/resource.ts';
import { errorIn, type ResourceProblem } from '../../site/problem.ts';
import { keyOf } from '../../site/resources.ts';
import { quoted } from '../../text/printable.ts';
import type { NamespaceView } from '../namespace-view.ts';
import type { DesiredObject } from '../desired-state.ts';
import { accessTypeOf, type AccessType } from './access-type.ts';
import { byGateway } from './by-gateway.ts';
import { byHttpProxy, byIngress, byRoute } from './by-host.ts';
import { byListener } from './by-listener.ts';
import { byLoadBalancer, byLocal, byNodePort, serviceFor } from './by-service.ts';
import { earlyTlsRoutes, gateways, httpProxies, ingresses, isMade, routes, tlsRoutes } from './kinds.ts';
import { failed, type AccessPlan, type AccessPlanInput } from './access-parts.ts';

/** Objects and endpoints of one SecuredAccess. If they cannot be determined, its Service still serves clients inside the cluster. */
export function makeAccess(access: SecuredAccess, view: NamespaceView): AccessPlan {
  const order = { access, view };
  const type = accessTypeOf(access.spec.accessType, view.settings.access, view.serves(routes));
  const planned = typeof type === 'string' ? failed(access, 'access-type', type) : (unserved(type, order) ?? by(type, order));
  const whole = planned.objects.length === 0 ? { ...planned, objects: [serviceFor(order)] } : planned;
  const taken = whole.objects.filter((item) => isForeign(item, view));
  if (taken.length === 0) return whole;
  return {
    objects: whole.objects.filter((item) => !taken.includes(item)),
    endpoints: [],
    problems: [...whole.problems, ...taken.map((item) => nameTaken(item, access))],
  };
}

function by(type: AccessType, order: AccessPlanInput): AccessPlan {
  switch (type.kind) {
    case 'local':
      return byLocal(order);
    case 'loadbalancer':
      return byLoadBalancer(order);
    case 'nodeport':
      return byNodePort(order);
    case 'route':
      return byRoute(order);
    case 'ingress':
    case 'ingress-nginx':
      return byIngress(order, type.kind === 'ingress-nginx');
    case 'contour-http-proxy':
      return byHttpProxy(order);
    case 'gateway':
      return byGateway(order);
    case 'listenerclass':
      return byListener(order, type.className);
  }
}

const neededFor: { readonly [kind in AccessType['kind']]?: readonly (readonly Resource[])[] } = {
  route: [[routes]],
  ingress: [[ingresses]],
  'ingress-nginx': [[ingresses]],
  'contour-http-proxy': [[httpProxies]],
  gateway: [[gateways], [tlsRoutes, earlyTlsRoutes]],
};

function unserved({ kind }: AccessType, { access, view }: AccessPlanInput): AccessPlan | undefined {
  const missing = neededFor[kind]?.find((some) => !some.some((of) => view.serves(of)));
  if (missing === undefined) return undefined;
  const names = missing.map(({ plural, group, version }) => `${plural}.${group}/${version}`).join(' or ');
  const remedy = 'install them and restart the controller, or choose another type.';
  return failed(access, 'access-type', `unsupported access type: the cluster does not serve ${names}; ${remedy}`);
}

/** Whether an object of that name exists that no site controller created. */
function isForeign({ of, object }: DesiredObject, view: NamespaceView): boolean {
  const { name = '', namespace } = object.metadata;
  if (namespace === undefined) {
    const found = view.find(of, name);
    return found !== undefined && !isMade(found);
  }
  return false;
}

function nameTaken({ of, object }: DesiredObject, access: SecuredAccess): ResourceProblem {
  const message = `${of.kind} ${quoted(object.metadata.name ?? '')} already exists in namespace, and another owner created it; rename one of the two.`;
  return errorIn(keyOf(access), 'metadata.name', 'object-foreign', message);
}
