/** Plans the Service of a Listener. Pure: no clock, no network. */
import { LISTENER_NAME_LABEL, podLabelOf, SERVICE_LABELS } from '../../api/listeners/names.ts';
import { listeners, type Listener, type ListenerClass, type ListenerClassSpec, type ListenerPort } from '../../api/listeners/index.ts';
import type { OwnerReference, Service, ServicePort, StringMap } from '../../kube/objects.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { unreadableText } from '../cluster/readable.ts';
import { MOST_PORTS, namePorts } from './port-names.ts';
import { applyOverrides } from './service-overrides.ts';
import { recordIntent } from './service-patch.ts';
import { nearest, sortByDistance } from '../../text/nearest.ts';
import { printable, shownValue } from '../../text/printable.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import { listSome } from '../../text/list-some.ts';

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
      /** Differences from the spec, for the Accepted condition. */
      readonly notices: readonly string[];
    };

const supportedTypes: ReadonlySet<string> = new Set(['NodePort', 'LoadBalancer', 'ClusterIP']);

/** Maximum length of a label value. The Listener's name becomes one, but names may be longer. */
const LONGEST_LABEL_VALUE = 63;

/** Prefix of keys that a site's controller and routers set on their objects. */
const CONNECTION_MARK = 'internal.skupper.io/';
const LONGEST_MARK = 80;

/** Each mount of a volume restores the class of the Listener that was created for it. */
const isOfVolume = ({ metadata }: Listener): boolean => (metadata.ownerReferences ?? []).some(({ kind }) => kind === 'PersistentVolume');
const RENAME_IN_CLAIM = 'create the claim again with another one in its annotation';

/** Maximum number of class names in a message. */
const MOST_CLASSES = 10;

/**
 * Maximum length of a port in a message: usually a protocol of four letters and a five-digit number, but a protocol may be any
 * text.
 */
const LONGEST_PORT = 40;

/**
 * @param listenerClass the class that the Listener names, or undefined if it does not exist
 * @param classes names of all classes, for users who have no permission to list them
 */
export function planService(listener: Listener, listenerClass: ListenerClass | undefined, classes: Iterable<string> = []): ServicePlan {
  if (listener.unreadable !== undefined) return refuse('Invalid', unreadableText('The Listener', listener.unreadable));
  const { className } = listener.spec;
  if (typeof className !== 'string' || className === '') {
    return refuse('NoClass', `spec.className is empty: name a ListenerClass. ${thereAre(classes)}`);
  }
  if (listenerClass === undefined) {
    const remedy = `Create it, or ${isOfVolume(listener) ? RENAME_IN_CLAIM : 'name another one in spec.className'}.`;
    return refuse('ClassNotFound', `ListenerClass ${shownValue(className)} does not exist. ${remedy} ${thereAre(classes, className)}`);
  }
  if (listenerClass.unreadable !== undefined) {
    return refuse('Invalid', unreadableText(`ListenerClass ${listenerClass.metadata.name}`, listenerClass.unreadable));
  }
  const { serviceType, serviceOverrides, objectOverridesPolicy = 'Any' } = listenerClass.spec;
  if (!supportedTypes.has(serviceType)) {
    const what = `ListenerClass ${listenerClass.metadata.name} has serviceType ${serviceType}`;
    return refuse('UnsupportedServiceType', `${what}, which this version does not support; use NodePort, LoadBalancer or ClusterIP.`);
  }
  const refused = refuseName(listener.metadata.name ?? '');
  if (refused !== undefined) return { refused };
  const desired = listener.spec.ports ?? [];
  if (desired.length > MOST_PORTS) {
    return refuse(
      'TooManyPorts',
      `spec.ports has ${desired.length} entries, and a Listener may have ${MOST_PORTS}. Use several Listeners.`,
    );
  }
  const { ports, notices } = planPorts(desired);
  if (ports.length === 0) {
    const remedy = 'Name the ports (for a volume with a class: in the ports of the containers).';
    return refuse('NoPorts', `spec.ports is empty, and a Service needs at least one port. ${remedy}`);
  }
  const repeated = repeatedPort(desired);
  if (repeated !== undefined) return refuse('RepeatedPort', repeated);
  const { service, problems } = applyOverrides(buildService(listener, listenerClass.spec, ports), {
    classOverrides: serviceOverrides ?? {},
    objectOverrides: listener.spec.objectOverrides ?? [],
    objectOverridesPolicy,
  });
  const overrideNotices = problems.map((problem) => `${problem.path} ${problem.message}`);
  const unmarked = withoutMarks(service);
  const all = [...notices, ...overrideNotices, ...unmarked.notices, ...withoutEffect(listenerClass)];
  return { service: seal(unmarked.service, listener.metadata.name ?? ''), notices: all };
}

/**
 * Removes labels and annotations by which the connection half identifies its own objects. A Listener's Service must never be one
 * of them.
 */
function withoutMarks(service: Service): { readonly service: Service; readonly notices: readonly string[] } {
  const { labels = {}, annotations = {} } = service.metadata;
  const isMark = (key: string): boolean => key.startsWith(CONNECTION_MARK);
  const marks = [...Object.keys(labels), ...Object.keys(annotations)].filter(isMark);
  if (marks.length === 0) return { service, notices: [] };
  const unmarked = (map: StringMap): StringMap => Object.fromEntries(Object.entries(map).filter(([key]) => !isMark(key)));
  const metadata = { ...service.metadata, labels: unmarked(labels), annotations: unmarked(annotations) };
  const which = [...new Set(marks)].map((key) => printable(key, LONGEST_MARK)).join(', ');
  return { service: { ...service, metadata }, notices: [`${which} marks objects of a site and is omitted from the Service.`] };
}

/** Settings of the class that have no effect. */
function withoutEffect({ metadata, spec }: ListenerClass): readonly string[] {
  if (spec.pinnedNodePorts !== true || spec.serviceType === 'NodePort') return [];
  return [`ListenerClass ${metadata.name} has pinnedNodePorts, which has an effect only with serviceType NodePort: no volume is pinned.`];
}

/** Lists the classes, most similar name first. */
function thereAre(classes: Iterable<string>, named = ''): string {
  const names = sortByDistance(named.trim(), classes);
  if (names.length === 0) return 'No ListenerClass exists yet.';
  const shown = names.slice(0, MOST_CLASSES);
  const meant = nearest(named.trim(), shown);
  const guess = meant === undefined ? '' : `Did you mean ${meant}? `;
  return `${guess}ListenerClasses: ${listSome(names, MOST_CLASSES)}.`;
}

function refuse(reason: Refusal['reason'], message: string): ServicePlan {
  return { refused: { reason, message } };
}

/**
 * Builds the Service without overrides. Fields that the class omits are left to the API server, except for two defaults of our
 * own.
 */
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
      // The default is true, which the API server fills in. Product operators write null for "not set", which counts as false.
      publishNotReadyAddresses: listener.spec.publishNotReadyAddresses === undefined || listener.spec.publishNotReadyAddresses === true,
      ...(isExternal && isGiven(externalTrafficPolicy) ? { externalTrafficPolicy } : {}),
      ...(isLoadBalancer ? { allocateLoadBalancerNodePorts: spec.loadBalancerAllocateNodePorts ?? true } : {}),
      ...(isLoadBalancer && isGiven(loadBalancerClass) ? { loadBalancerClass } : {}),
    },
  };
}

/**
 * Labels that replace the Listener's own, so that selectors for the product's Services (its ServiceMonitor, its operator) do not
 * match this one.
 */
function recommendedLabels(listenerName: string): StringMap {
  const labels = { ...SERVICE_LABELS, instance: listenerName };
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [`app.kubernetes.io/${key}`, value]));
}

/** The API server stores a field that is written as null. */
function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

/** Whether a Listener of this name can have a Service and label its pods. */
export function refuseName(name: string): Refusal | undefined {
  if (name.length <= LONGEST_LABEL_VALUE) return undefined;
  const limit = `Kubernetes allows them ${LONGEST_LABEL_VALUE} characters; this one has ${name.length}`;
  const remedy = "Use a shorter name. A volume's Listener has the name of its claim, and an ephemeral claim is named POD-VOLUME.";
  return { reason: 'InvalidName', message: `The Service and its labels take the Listener's name, and ${limit}. ${remedy}` };
}

/**
 * Adds, after all overrides, what Earshot needs to find its Services: the label that the watch selects, and the record of set
 * fields.
 */
function seal(service: Service, listenerName: string): Service {
  const { metadata } = service;
  return recordIntent({ ...service, metadata: { ...metadata, labels: { ...metadata.labels, [LISTENER_NAME_LABEL]: listenerName } } });
}

/** Converts the ports. Identical entries become one port. */
function planPorts(desired: readonly ListenerPort[]): { ports: readonly ServicePort[]; notices: readonly string[] } {
  const numbered = new Map(desired.map((port) => [`${port.name}/${port.protocol ?? 'TCP'}/${port.port}`, port]));
  const notices: string[] = [];
  const ports = namePorts([...numbered.values()]).map(({ name, desired: asked }): ServicePort => {
    const { name: before, port } = asked;
    const protocol = asked.protocol ?? 'TCP';
    const why = before === '' ? 'a port has no name' : `two ports have the name ${before}`;
    if (name !== before) notices.push(`spec.ports: ${why}; ${protocol} ${port} is exposed as ${name}.`);
    return { name, port, protocol };
  });
  return { ports, notices };
}

/**
 * Reports two ports of different names with the same number and protocol, which no type of Service allows. Overrides merge by
 * both, so they add none. (The API server's own refusal names a random node port.)
 */
function repeatedPort(desired: readonly ListenerPort[]): string | undefined {
  const seen = new Map<string, { readonly index: number; readonly name: string }>();
  for (const [index, { name, port, protocol }] of desired.entries()) {
    const identity = `${protocol ?? 'TCP'} ${port}`;
    const first = seen.get(identity);
    if (first !== undefined && first.name !== name) {
      const which = printable(identity, LONGEST_PORT);
      const remedy = 'A Service exposes each number of a protocol once: remove one of them.';
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
