/**
 * The same API as an earlier system defines it, reduced to what decides which values are admitted: the union of the
 * versions in use. A fixture: the facts of the schema, without its descriptions.
 */
import type { CustomResourceDefinition, Structural } from '../../../src/api/crd.ts';

const string: Structural = { type: 'string' };
const int32: Structural = { type: 'integer', format: 'int32' };
const strings: Structural = { type: 'object', additionalProperties: string };
const numbers: Structural = { type: 'object', additionalProperties: int32 };
const anything: Structural = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const oneOf = (...values: readonly string[]): Structural => ({ type: 'string', enum: values });
const orNull = (schema: Structural): Structural => ({ ...schema, nullable: true });
const listOf = (items: Structural): Structural => ({ type: 'array', items });
const object = (properties: Readonly<Record<string, Structural>>, required: readonly string[] = []): Structural =>
  required.length === 0 ? { type: 'object', properties } : { type: 'object', properties, required };

const ingress = object({ address: string, addressType: oneOf('Hostname', 'IP'), ports: numbers }, ['address', 'addressType', 'ports']);

const listenerClassSpec = object(
  {
    serviceType: oneOf('NodePort', 'LoadBalancer', 'ClusterIP', 'OpenShiftRoute'),
    loadBalancerAllocateNodePorts: { type: 'boolean', default: true },
    loadBalancerClass: orNull(string),
    serviceAnnotations: { ...strings, default: {} },
    serviceExternalTrafficPolicy: orNull(oneOf('Cluster', 'Local')),
    preferredAddressType: { ...oneOf('Hostname', 'IP', 'HostnameConservative'), default: 'HostnameConservative' },
    pinnedNodePorts: { type: 'boolean', default: false },
    serviceOverrides: { ...anything, default: { apiVersion: 'v1', kind: 'Service', metadata: {} } },
    openshiftRoute: orNull(anything),
  },
  ['serviceType'],
);

const listenerSpec = object({
  className: orNull(string),
  extraPodSelectorLabels: { ...strings, default: {} },
  objectOverrides: { ...listOf(anything), default: [] },
  ports: orNull(listOf(object({ name: string, port: int32, protocol: orNull(string) }, ['name', 'port']))),
  publishNotReadyAddresses: orNull({ type: 'boolean', default: true }),
});

const listenerStatus = orNull(
  object({ ingressAddresses: orNull(listOf(ingress)), nodePorts: orNull(numbers), serviceName: orNull(string) }),
);

const podListenersSpec = object(
  {
    listeners: {
      type: 'object',
      additionalProperties: object({ scope: oneOf('Node', 'Cluster'), ingressAddresses: orNull(listOf(ingress)) }, ['scope']),
    },
  },
  ['listeners'],
);

export function earlierDefinitions(): CustomResourceDefinition[] {
  return [
    definition('ListenerClass', 'listenerclasses', 'listenerclass', 'Cluster', { spec: listenerClassSpec }),
    definition('Listener', 'listeners', 'listener', 'Namespaced', { spec: listenerSpec, status: listenerStatus }),
    definition('PodListeners', 'podlisteners', 'podlisteners', 'Namespaced', { spec: podListenersSpec }),
  ];
}

function definition(
  kind: string,
  plural: string,
  singular: string,
  scope: 'Namespaced' | 'Cluster',
  parts: Readonly<Record<string, Structural>>,
): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.listeners.stackable.tech` },
    spec: {
      group: 'listeners.stackable.tech',
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames: [], categories: [] },
      scope,
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: object(parts, ['spec']) },
          subresources: kind === 'Listener' ? { status: {} } : {},
          additionalPrinterColumns: [],
        },
      ],
    },
  };
}
