/** Every kind that an account of Earshot creates or changes, and how the matrix of other admission meets it. */

export interface WrittenKind {
  readonly group: string;
  readonly resource: string;
  /** Why the matrix does not write one. Left out: it does. */
  readonly notWritten?: string;
}

const SKUPPER = 'skupper.io';
const LISTENERS = 'listeners.stackable.tech';
const OTHER_ACCESS = 'another way to reach a site, of an API that the test cluster lacks or that is not enabled: written as a Service is';

export const writtenKinds: readonly WrittenKind[] = [
  { group: LISTENERS, resource: 'listeners' },
  { group: LISTENERS, resource: 'podlisteners' },
  { group: LISTENERS, resource: 'listenerclasses', notWritten: 'not in a namespace: the presets, made once' },
  { group: '', resource: 'services' },
  { group: '', resource: 'persistentvolumes' },
  { group: '', resource: 'persistentvolumeclaims' },
  { group: '', resource: 'pods' },
  { group: '', resource: 'configmaps' },
  { group: '', resource: 'secrets' },
  { group: '', resource: 'serviceaccounts' },
  { group: 'apps', resource: 'deployments' },
  { group: 'rbac.authorization.k8s.io', resource: 'roles' },
  { group: 'rbac.authorization.k8s.io', resource: 'rolebindings' },
  { group: 'policy', resource: 'poddisruptionbudgets' },
  { group: 'coordination.k8s.io', resource: 'leases' },
  { group: 'discovery.k8s.io', resource: 'endpointslices' },
  { group: SKUPPER, resource: 'certificates' },
  { group: SKUPPER, resource: 'links' },
  { group: SKUPPER, resource: 'routeraccesses' },
  { group: SKUPPER, resource: 'securedaccesses' },
  { group: 'events.k8s.io', resource: 'events', notWritten: 'nothing waits for an event' },
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', notWritten: 'not in a namespace: applied once by each version' },
  { group: 'networking.k8s.io', resource: 'ingresses', notWritten: OTHER_ACCESS },
  { group: 'route.openshift.io', resource: 'routes', notWritten: OTHER_ACCESS },
  { group: 'projectcontour.io', resource: 'httpproxies', notWritten: OTHER_ACCESS },
  { group: 'gateway.networking.k8s.io', resource: 'gateways', notWritten: OTHER_ACCESS },
  { group: 'gateway.networking.k8s.io', resource: 'tlsroutes', notWritten: OTHER_ACCESS },
];
