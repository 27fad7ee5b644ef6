/** Which Service a Listener should have: pure, no clock, no network. */
import { LISTENER_NAME_LABEL, podLabelOf, SERVICE_LABELS } from '../../api/listeners/names.ts';
import { listeners, type Listener, type ListenerClass, type ListenerClassSpec, type ListenerPort } from '../../api/listeners/index.ts';
import type { OwnerReference, Service, ServicePort, StringMap } from '../../kube/objects.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { unreadableText } from '../cluster/readable.ts';
import { namePorts } from './port-names.ts';
import { applyOverrides } from './service-overrides.ts';
import { recordIntent } from './service-patch.ts';
import { nearest, sortByDistance } from '../../text/nearest.ts';
import { printable, shownValue } from '../../text/printable.ts';
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
const LONGEST_LABEL_VALUE = 63;

/** Of keys that a site's controller and routers set on their objects. */
const CONNECTION_MARK = 'internal.skupper.io/';
const LONGEST_MARK = 80;

/** Names of classes in a message. */
const MOST_CLASSES = 10;

/** A protocol of four letters and a number of five digits; but a protocol may say anything. */
const LONGEST_PORT = 40;

/**
 * `listenerClass`: the one that the Listener names; undefined where there is none of that name. `classes`: the names of all, for
 * whoever may not list them, as users of a namespace may not.
 */
export function planService(listener: Listener, listenerClass: ListenerClass | undefined, classes: Iterable<string> = []): ServicePlan {
  if (listener.unreadable !== undefined) return refuse('Invalid', unreadableText('The Listener', listener.unreadable));
  const { className } = listener.spec;
  if (typeof className !== 'string' || className === '') {
    return refuse('NoClass', `spec.className is empty: name a ListenerClass. ${thereAre(classes)}`);
  }
  if (listenerClass === undefined) {
    const remedy = 'Create it, or name another one in spec.className.';
    return refuse('ClassNotFound', `ListenerClass ${shownValue(className)} does not exist. ${remedy} ${thereAre(classes, className)}`);
  }
  if (listenerClass.unreadable !== undefined) {
    return refuse('Invalid', unreadableText(`ListenerClass ${listenerClass.metadata.name}`, listenerClass.unreadable));
  }
  const { serviceType, serviceOverrides, objectOverridesPolicy = 'Any' } = listenerClass.spec;
  if (!supportedTypes.has(serviceType)) {
    const what = `ListenerClass ${listenerClass.metadata.name} has serviceType ${serviceType}`;
    return refuse('UnsupportedServiceType', `${what}, which this version does not serve; use NodePort, LoadBalancer or ClusterIP.`);
  }
  const refused = refuseName(listener.metadata.name ?? '');
  if (refused !== undefined) return { refused };
  const { ports, notices } = planPorts(listener.spec.ports ?? []);
  if (ports.length === 0) {
    const remedy = 'Name the ports (for a volume with a class: in the ports of the containers).';
    return refuse('NoPorts', `spec.ports is empty, and a Service needs at least one port. ${remedy}`);
  }
  const repeated = repeatedPort(listener.spec.ports ?? []);
  if (repeated !== undefined) return refuse('RepeatedPort', repeated);
  const { service, problems } = applyOverrides(buildService(listener, listenerClass.spec, ports), {
    classOverrides: serviceOverrides ?? {},
    objectOverrides: listener.spec.objectOverrides ?? [],
    objectOverridesPolicy,
  });
  const told = problems.map((problem) => `${problem.path} ${problem.message}`);
  const unmarked = withoutMarks(service);
  const all = [...notices, ...told, ...unmarked.notices, ...withoutEffect(listenerClass)];
  return { service: seal(unmarked.service, listener.metadata.name ?? ''), notices: all };
}

/** Labels and annotations by which the connection half knows its own objects. A Service of a Listener is none of them, whoever asks for it. */
function withoutMarks(service: Service): { readonly service: Service; readonly notices: readonly string[] } {
  const { labels = {}, annotations = {} } = service.metadata;
  const isMark = (key: string): boolean => key.startsWith(CONNECTION_MARK);
  const marks = [...Object.keys(labels), ...Object.keys(annotations)].filter(isMark);
  if (marks.length === 0) return { service, notices: [] };
  const unmarked = (map: StringMap): StringMap => Object.fromEntries(Object.entries(map).filter(([key]) => !isMark(key)));
  const metadata = { ...service.metadata, labels: unmarked(labels), annotations: unmarked(annotations) };
  const which = [...new Set(marks)].map((key) => printable(key, LONGEST_MARK)).join(', ');
  return { service: { ...service, metadata }, notices: [`${which} marks objects of a site and is left out of the Service.`] };
}

/** What the class says and nobody can do. */
function withoutEffect({ metadata, spec }: ListenerClass): readonly string[] {
  if (spec.pinnedNodePorts !== true || spec.serviceType === 'NodePort') return [];
  return [`ListenerClass ${metadata.name} has pinnedNodePorts, which counts only with serviceType NodePort: nothing is pinned.`];
}

/** The classes most similar to the given name come first. */
function thereAre(classes: Iterable<string>, named = ''): string {
  const names = sortByDistance(named.trim(), classes);
  if (names.length === 0) return 'There is none yet.';
  const shown = names.slice(0, MOST_CLASSES);
  const meant = nearest(named.trim(), shown);
  const guess = meant === undefined ? '' : `Did you mean ${meant}? `;
  const more = names.length > MOST_CLASSES ? ` and ${names.length - MOST_CLASSES} more` : '';
  return `${guess}There are: ${shown.join(', ')}${more}.`;
}

function refuse(reason: Refusal['reason'], message: string): ServicePlan {
  return { refused: { reason, message } };
}

/** The Service without overrides. What the class leaves out is left to the API server, but for two defaults of our own. */
function buildService(listener: Listener, spec: ListenerClassSpec, ports: readonly ServicePort[]): Service {
  const { name = '', namespace = '', uid = '', labels } = listener.metadata;
  const [mountKey, mountValue] = podLabelOf({ name, uid });
  const { serviceType, serviceExternalTrafficPolicy: externalTrafficPolicy, loadBalancerClass } = spec;
  const isExternal = serviceType !== 'ClusterIP';
  const isLoadBalancer = serviceType === 'LoadBalancer';
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace,
      labels: { ...labels, ...recommendedLabels(name) },
      annotations: { ...spec.serviceAnnotations },
      ownerReferences: [ownerReferenceTo(listener)],
    },
    spec: {
      type: serviceType,
      ports,
      selector: { ...listener.spec.extraPodSelectorLabels, [mountKey]: mountValue },
      // Left out it is true, which the API server fills in; null, which product operators write for "not set", is false.
      publishNotReadyAddresses: listener.spec.publishNotReadyAddresses === undefined || listener.spec.publishNotReadyAddresses === true,
      ...(isExternal && isGiven(externalTrafficPolicy) ? { externalTrafficPolicy } : {}),
      ...(isLoadBalancer ? { allocateLoadBalancerNodePorts: spec.loadBalancerAllocateNodePorts ?? true } : {}),
      ...(isLoadBalancer && isGiven(loadBalancerClass) ? { loadBalancerClass } : {}),
    },
  };
}

/**
 * Over the Listener's own, which are its product's: what selects the product's Services by them (its ServiceMonitor, its
 * operator) must not find these.
 */
function recommendedLabels(listenerName: string): StringMap {
  const labels = { ...SERVICE_LABELS, instance: listenerName };
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [`app.kubernetes.io/${key}`, value]));
}

/** The API server stores a field that is written as null. */
function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

/** Whether a Listener of this name can have a Service, and pods that bear its label. */
export function refuseName(name: string): Refusal | undefined {
  if (name.length <= LONGEST_LABEL_VALUE) return undefined;
  const limit = `Kubernetes allows them ${LONGEST_LABEL_VALUE} characters; this one has ${name.length}`;
  const remedy = 'Use a shorter name (for a volume: a shorter claim name).';
  return { reason: 'InvalidName', message: `The Service and its labels take the Listener's name, and ${limit}. ${remedy}` };
}

/** Adds what Earshot finds its Services by, after all overrides: the label that the watch selects, and the record of its fields. */
function seal(service: Service, listenerName: string): Service {
  const { metadata } = service;
  return recordIntent({ ...service, metadata: { ...metadata, labels: { ...metadata.labels, [LISTENER_NAME_LABEL]: listenerName } } });
}

/** What is written twice is one port. */
function planPorts(wanted: readonly ListenerPort[]): { ports: readonly ServicePort[]; notices: readonly string[] } {
  const numbered = new Map(wanted.map((port) => [`${port.name}/${port.protocol ?? 'TCP'}/${port.port}`, port]));
  const notices: string[] = [];
  const ports = namePorts([...numbered.values()]).map(({ name, wanted: asked }): ServicePort => {
    const { name: before, port } = asked;
    const protocol = asked.protocol ?? 'TCP';
    const why = before === '' ? 'a port has no name' : `two ports are called ${before}`;
    if (name !== before) notices.push(`spec.ports: ${why}; ${protocol} ${port} is exposed as ${name}.`);
    return { name, port, protocol };
  });
  return { ports, notices };
}

/**
 * What is wrong where two ports of different names have one number and protocol: no Service may have two, of whatever type
 * it is. Overrides merge by both, so they add none. (The API server's own refusal names a random node port.)
 */
function repeatedPort(wanted: readonly ListenerPort[]): string | undefined {
  const seen = new Map<string, { readonly index: number; readonly name: string }>();
  for (const [index, { name, port, protocol }] of wanted.entries()) {
    const identity = `${protocol ?? 'TCP'} ${port}`;
    const first = seen.get(identity);
    if (first !== undefined && first.name !== name) {
      const which = printable(identity, LONGEST_PORT);
      const remedy = 'A Service exposes each number of a protocol once: leave one of them out.';
      return `spec.ports[${index}] repeats ${which} of spec.ports[${first.index}]. ${remedy}`;
    }
    if (first === undefined) seen.set(identity, { index, name });
  }
  return undefined;
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
