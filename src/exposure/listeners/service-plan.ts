/** Which Service a Listener should have: pure, no clock, no network. */
import { LISTENER_NAME_LABEL, podLabelOf } from '../../api/listeners/names.ts';
import { listeners, type Listener, type ListenerClass, type ListenerPort } from '../../api/listeners/index.ts';
import type { OwnerReference, Service, ServicePort } from '../../kube/objects.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { applyOverrides } from './service-overrides.ts';
import { recordIntent } from './service-patch.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';

/** Why a Listener cannot have a Service, for its Accepted condition. */
export interface Refusal {
  readonly reason: ConditionReason;
  readonly message: string;
}

export type ServicePlan =
  | { readonly refused: Refusal }
  | {
      readonly refused?: never;
      readonly service: Service;
      /** What was done differently from what was written, for the Accepted condition. */
      readonly notices: readonly string[];
    };

const supportedTypes: ReadonlySet<string> = new Set(['NodePort', 'LoadBalancer', 'ClusterIP']);

/** A label's value, which the Listener's name becomes, is shorter than a name may be. */
const longestLabelValue = 63;

export function planService(listener: Listener, listenerClass: ListenerClass): ServicePlan {
  const { name = '', namespace = '', uid = '' } = listener.metadata;
  const { spec } = listenerClass;
  if (!supportedTypes.has(spec.serviceType)) {
    const message = `ListenerClass ${listenerClass.metadata.name} has serviceType ${spec.serviceType}, which this version does not serve; use NodePort, LoadBalancer or ClusterIP.`;
    return { refused: { reason: 'UnsupportedServiceType', message } };
  }
  const nameRefusal = refuseName(name);
  if (nameRefusal !== undefined) return { refused: nameRefusal };
  const { ports, notices } = planPorts(listener.spec.ports ?? []);
  if (ports.length === 0) {
    const message =
      'spec.ports is empty, and a Service needs at least one port. Name the ports (for a volume with a class: in the ports of the containers).';
    return { refused: { reason: 'NoPorts', message } };
  }

  const [mountKey, mountValue] = podLabelOf({ name, uid });
  const isExternal = spec.serviceType !== 'ClusterIP';
  const isLoadBalancer = spec.serviceType === 'LoadBalancer';
  const built: Service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace,
      labels: { ...listener.metadata.labels },
      annotations: { ...spec.serviceAnnotations },
      ownerReferences: [ownerReferenceTo(listener)],
    },
    spec: {
      type: spec.serviceType,
      ports,
      selector: { ...listener.spec.extraPodSelectorLabels, [mountKey]: mountValue },
      publishNotReadyAddresses: listener.spec.publishNotReadyAddresses ?? true,
      ...(isExternal && spec.serviceExternalTrafficPolicy !== undefined && spec.serviceExternalTrafficPolicy !== null
        ? { externalTrafficPolicy: spec.serviceExternalTrafficPolicy }
        : {}),
      ...(isLoadBalancer ? { allocateLoadBalancerNodePorts: spec.loadBalancerAllocateNodePorts ?? true } : {}),
      ...(isLoadBalancer && spec.loadBalancerClass !== undefined && spec.loadBalancerClass !== null
        ? { loadBalancerClass: spec.loadBalancerClass }
        : {}),
    },
  };
  const { service, problems } = applyOverrides(built, {
    classOverrides: spec.serviceOverrides ?? {},
    objectOverrides: listener.spec.objectOverrides ?? [],
  });
  return { service: seal(service, name), notices: [...notices, ...problems.map((problem) => `${problem.path} ${problem.message}`)] };
}

/** Whether a Listener of this name can have a Service, and pods that bear its label. */
export function refuseName(name: string): Refusal | undefined {
  if (name.length <= longestLabelValue) return undefined;
  const message = `The Service and its labels take the Listener's name, and Kubernetes allows them ${longestLabelValue} characters; this one has ${name.length}. Use a shorter name (for a volume: a shorter claim name).`;
  return { reason: 'InvalidName', message };
}

/** Adds what Earshot finds its Services by, after all overrides: the label that the watch selects, and the record of its fields. */
function seal(service: Service, listenerName: string): Service {
  const { metadata } = service;
  return recordIntent({ ...service, metadata: { ...metadata, labels: { ...metadata.labels, [LISTENER_NAME_LABEL]: listenerName } } });
}

/**
 * A Service may not hold two ports of one name, nor two with one number and protocol. Of ports with one name the last
 * keeps it (as users of this API are used to), the others are named after their number instead of being dropped.
 */
function planPorts(wanted: readonly ListenerPort[]): { ports: readonly ServicePort[]; notices: readonly string[] } {
  const numbered = new Map<string, ServicePort>();
  for (const { name, port, protocol } of wanted) {
    const planned: ServicePort = { name, port, protocol: protocol ?? 'TCP' };
    numbered.set(`${name}/${planned.protocol}/${port}`, planned);
  }
  const distinctPorts = [...numbered.values()];
  // A port without a name is nobody's: pods read numbers by name, so it gets one as an unnamed port of a container does.
  const owner = new Map(distinctPorts.filter(({ name }) => name !== '').map((port) => [port.name, port]));
  const notices: string[] = [];
  const ports = distinctPorts.map((port): ServicePort => {
    if (owner.get(port.name) === port) return port;
    const name = firstFree(`port-${port.port}`, owner);
    owner.set(name, port);
    const why = port.name === '' ? 'a port has no name' : `two ports are called ${port.name}`;
    notices.push(`spec.ports: ${why}; ${port.protocol} ${port.port} is exposed as ${name}.`);
    return { ...port, name };
  });
  return { ports, notices };
}

function firstFree(name: string, taken: ReadonlyMap<string | undefined, unknown>): string {
  let free = name;
  for (let next = 2; taken.has(free); next++) free = `${name}-${next}`;
  return free;
}

function ownerReferenceTo(listener: Listener): OwnerReference {
  return {
    apiVersion: apiVersionOf(listeners),
    kind: listeners.kind,
    name: listener.metadata.name ?? '',
    uid: listener.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Whether this Listener, and no other object, controls the Service. */
export function isOwnedBy(service: Service, listener: Listener): boolean {
  return (service.metadata.ownerReferences ?? []).some(
    (owner) => owner.controller === true && owner.kind === listeners.kind && owner.uid === listener.metadata.uid,
  );
}
