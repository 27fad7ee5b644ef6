/** Computes a Listener's status from its Service and Nodes. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { mergeConditions, type ConditionNow } from '../../api/condition.ts';
import type { Listener, ListenerIngress, ListenerStatus, PreferredAddressType } from '../../api/listeners/index.ts';
import type { Node, Service } from '../../kube/objects.ts';
import {
  clusterAddresses,
  distinct,
  externalAddresses,
  loadBalancerAddresses,
  loadBalancerErrors,
  nodeAddresses,
  preferredKind,
  publicPorts,
  type Reachable,
} from './addresses.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import { listSome } from '../../text/list-some.ts';

/** Maximum number of addresses or ports in a message; the status lists all. */
const MOST_LISTED = 10;

/** A condition whose reason is in the catalogue. */
type ConditionState = ConditionNow & { readonly reason: ConditionReason };

/** Result of applying the Service, as far as it concerns the Listener's author. */
export type Acceptance =
  | { readonly accepted: true; readonly notices: readonly string[] }
  | { readonly accepted: false; readonly reason: ConditionReason; readonly message: string };

export interface Surroundings {
  /** The Listener's own Service, or undefined if it does not exist. */
  readonly service: Service | undefined;
  /** Why Ready is False because of the Service, for example because another object owns it. */
  readonly obstacle?: { readonly reason: ConditionReason; readonly message: string };
  readonly preferredAddressType: PreferredAddressType;
  /** Nodes that the Listener's volumes are pinned to, and nodes with endpoints. Only for NodePort. */
  readonly pinnedNodes: ReadonlySet<string>;
  readonly endpointNodes: ReadonlySet<string>;
  /** Names of pods behind the Service that run but are not ready. */
  readonly unreadyPods: readonly string[];
  readonly nodeNamed: (name: string) => Node | undefined;
  readonly clusterDomain: string;
}

/**
 * The status with the addresses for all clients, sorted by node name and then in the node's order, so that the first one is
 * stable. planEntry (mounts/mount-plan.ts) decides the addresses in a pod's own volume: with node ports they are those of its own
 * node. `now` is used only for conditions whose status changes.
 */
export function observeListener(listener: Listener, acceptance: Acceptance, around: Surroundings, now: string): ListenerStatus {
  const { service } = around;
  const generation = listener.metadata.generation;
  const previous = listener.status?.conditions ?? [];
  const reach = service === undefined ? nothingReachable : reachOf(service, around);
  const ready =
    around.obstacle === undefined
      ? readiness(listener, acceptance, { service, reach, unreadyPods: around.unreadyPods })
      : { status: 'False' as const, ...around.obstacle };
  return {
    ...(service?.metadata.name === undefined ? {} : { serviceName: service.metadata.name }),
    ingressAddresses: ingressOf(reach),
    ...(reach.isNodePort ? { nodePorts: reach.ports } : {}),
    conditions: mergeConditions(previous, [acceptedCondition(acceptance), { type: 'Ready', ...ready }], { generation, now }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

interface Reach {
  readonly addresses: readonly Reachable[];
  readonly ports: Readonly<Record<string, number>>;
  /** Addresses that an override adds, and their ports. */
  readonly external: readonly Reachable[];
  readonly externalPorts: Readonly<Record<string, number>>;
  readonly isNodePort: boolean;
  /** Nodes that should provide addresses but have no Node object, or list no usable address. */
  readonly lostNodes: readonly string[];
  readonly mutedNodes: readonly string[];
}

/** Addresses added by an override come last, so that the preferred one stays first. */
function ingressOf({ addresses, ports, external, externalPorts }: Reach): readonly ListenerIngress[] {
  const known = new Set(addresses.map(({ address }) => address));
  return [
    ...addresses.map((reachable) => ({ ...reachable, ports })),
    ...external.filter(({ address }) => !known.has(address)).map((reachable) => ({ ...reachable, ports: externalPorts })),
  ];
}

const nothingReachable: Reach = {
  addresses: [],
  ports: {},
  external: [],
  externalPorts: {},
  isNodePort: false,
  lostNodes: [],
  mutedNodes: [],
};

/** Uses the Service's own type instead of the class's, because an override may have changed it. */
function reachOf(service: Service, around: Surroundings): Reach {
  const added = { external: externalAddresses(service), externalPorts: publicPorts(service, 'service') };
  return { ...reachByType(service, around), ...added };
}

function reachByType(service: Service, around: Surroundings): Reach {
  const type = service.spec?.type ?? 'ClusterIP';
  const preferred = preferredKind(around.preferredAddressType, type);
  switch (type) {
    case 'NodePort': {
      const names = [...around.pinnedNodes.union(around.endpointNodes)].sort();
      const found = names.map((name) => {
        const node = around.nodeNamed(name);
        return { name, addresses: node === undefined ? undefined : nodeAddresses(node, preferred, familiesOf(service)) };
      });
      return {
        ...nothingReachable,
        addresses: distinct(found.flatMap(({ addresses }) => addresses ?? [])),
        ports: publicPorts(service, 'node'),
        isNodePort: true,
        lostNodes: found.filter(({ addresses }) => addresses === undefined).map(({ name }) => name),
        mutedNodes: found.filter(({ addresses }) => addresses?.length === 0).map(({ name }) => name),
      };
    }
    case 'LoadBalancer':
      return { ...nothingReachable, addresses: loadBalancerAddresses(service, preferred), ports: publicPorts(service, 'service') };
    default:
      return {
        ...nothingReachable,
        addresses: clusterAddresses(service, preferred, around.clusterDomain),
        ports: publicPorts(service, 'service'),
      };
  }
}

/** Service.spec.ipFamilies. The API server always sets it for these types. */
export function familiesOf(service: Service): readonly string[] {
  return service.spec?.ipFamilies ?? ['IPv4'];
}

function acceptedCondition(acceptance: Acceptance): ConditionState {
  if (!acceptance.accepted) return { type: 'Accepted', status: 'False', reason: acceptance.reason, message: acceptance.message };
  return acceptance.notices.length === 0
    ? { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'The ListenerClass and the Listener fit together.' }
    : { type: 'Accepted', status: 'True', reason: 'AcceptedWithNotes', message: acceptance.notices.join(' ') };
}

type Readiness = Omit<ConditionState, 'type'>;
type Cause = readonly [reason: ConditionReason, message: string];

interface Found {
  readonly service: Service | undefined;
  readonly reach: Reach;
  readonly unreadyPods: readonly string[];
}

function readiness(listener: Listener, acceptance: Acceptance, { service, reach, unreadyPods }: Found): Readiness {
  // Without a pod on a node, nothing responds at addresses that an override adds.
  if (reach.addresses.length > 0 || (reach.external.length > 0 && !reach.isNodePort)) return withAddresses(acceptance, service, reach);
  if (service !== undefined) return notReady(...withoutAddresses(service, reach, () => withoutNodes(listener, unreadyPods)));
  return acceptance.accepted ? notReady('NoService', 'The Service is not there yet.') : notReady('NotAccepted', acceptance.message);
}

function notReady(reason: ConditionReason, message: string): Readiness {
  return { status: 'False', reason, message };
}

function withAddresses(acceptance: Acceptance, service: Service | undefined, reach: Reach): Readiness {
  const { lostNodes } = reach;
  const list = reachableText({ ingressAddresses: ingressOf(reach) });
  if (!acceptance.accepted) {
    return notReady('NotAccepted', `The Service is not updated, and still has ${list}. The Accepted condition says why.`);
  }
  const message = `Reachable at ${list}.${service === undefined ? '' : errorText(service)}`;
  if (lostNodes.length === 0) return { status: 'True', reason: 'AddressesAssigned', message };
  return { status: 'True', reason: 'SomeNodesMissing', message: `${message} ${lostNodesMessage(lostNodes)}` };
}

/** Why an existing Service has no address, most direct cause first. */
function withoutAddresses(service: Service, { lostNodes, mutedNodes, isNodePort }: Reach, noNodes: () => Cause): Cause {
  const { name, namespace } = service.metadata;
  if (lostNodes.length > 0) return ['NodeMissing', lostNodesMessage(lostNodes)];
  if (mutedNodes.length > 0) {
    const what = `Node ${mutedNodes.join(', ')} lists no address of the Service's IP families (${familiesOf(service).join(', ')})`;
    return ['NodeHasNoAddress', `${what}; see status.addresses of the Node and spec.ipFamilyPolicy in the class's serviceOverrides.`];
  }
  if (isNodePort) return noNodes();
  if (service.spec?.type === 'LoadBalancer') {
    const { loadBalancerClass } = service.spec;
    const which = loadBalancerClass === undefined ? "the cluster's load balancer" : `load balancer class ${loadBalancerClass}`;
    const remedy = "If this takes long, see the Service's events, and check that the cluster has a load balancer.";
    return ['LoadBalancerPending', `Service ${namespace}/${name} waits for ${which} to assign an address.${errorText(service)} ${remedy}`];
  }
  return ['ServicePending', `Service ${namespace}/${name} has no cluster IP yet.`];
}

/** Errors that the load balancer reports for single ports, as another sentence. */
function errorText(service: Service): string {
  const errors = loadBalancerErrors(service);
  return errors.length === 0 ? '' : ` The load balancer reports: ${listed(errors)}.`;
}

/** Why a Service with node ports has no node. */
function withoutNodes({ spec }: Listener, unreadyPods: readonly string[]): Cause {
  if (unreadyPods.length > 0) {
    const one = `Pod ${listed(unreadyPods)} runs but is not ready, and gets no traffic until then.`;
    const several = `Pods ${listed(unreadyPods)} run but are not ready, and get no traffic until then.`;
    const remedy = 'The address appears when one is ready: see its readiness probe, or set publishNotReadyAddresses to true.';
    return ['PodsNotReady', `${unreadyPods.length === 1 ? one : several} ${remedy}`];
  }
  const labels = Object.entries(spec.extraPodSelectorLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const selected = labels.length === 0 ? '' : ` and has the labels of extraPodSelectorLabels (${listed(labels)})`;
  return ['NoNodes', `No pod behind this Listener is on a node yet. Addresses appear when a pod that mounts it${selected} has started.`];
}

function lostNodesMessage(names: readonly string[]): string {
  const remedy = 'A pod pinned there waits for the Node to come back, unless the class has nodeLossPolicy: Release.';
  return `Node ${names.join(', ')} does not exist any more, so its address is omitted. ${remedy}`;
}

/** Formats addresses and ports: `10.77.0.11, kafka 31095`. Empty if there are none. */
export function reachableText({ ingressAddresses }: Pick<ListenerStatus, 'ingressAddresses'>): string {
  const addresses = (ingressAddresses ?? []).map(({ address }) => address);
  // The API server may return a map in another order than written.
  const ports = Object.entries(ingressAddresses?.[0]?.ports ?? {})
    .map(([name, number]) => `${name} ${number}`)
    .sort();
  return [listed(addresses), listed(ports)].filter((text) => text !== '').join(', ');
}

const listed = (items: readonly string[]): string => listSome(items, MOST_LISTED);

/**
 * Whether a Listener without addresses had some before. Both conditions start at the same time, so a later transition of Ready
 * means that it was True after the Listener was accepted.
 */
export function hadAddresses({ conditions = [] }: Pick<ListenerStatus, 'conditions'>): boolean {
  const since = (type: string): string => conditions.find((condition) => condition.type === type)?.lastTransitionTime ?? '';
  return since('Ready') > since('Accepted');
}

/** Whether two statuses with addresses differ only in their nodes. */
export function differInNodesOnly(a: ListenerStatus, b: ListenerStatus): boolean {
  const isNodes = [a, b].every(({ nodePorts, ingressAddresses }) => isPresent(nodePorts) && (ingressAddresses ?? []).length > 0);
  return isNodes && isDeepStrictEqual(apartFromNodes(a), apartFromNodes(b));
}

function apartFromNodes(status: ListenerStatus): unknown {
  const conditions = (status.conditions ?? []).map(({ lastTransitionTime: _time, message: _message, ...said }) => said);
  return { ...comparable(status), ingressAddresses: [], conditions };
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Whether two statuses are equal apart from transition times, which are derived. */
export function sameStatus(a: ListenerStatus | undefined, b: ListenerStatus): boolean {
  return a !== undefined && isDeepStrictEqual(comparable(a), comparable(b));
}

/** The fields of a status without derived ones. */
export function comparable(status: ListenerStatus): object {
  return {
    serviceName: status.serviceName ?? null,
    ingressAddresses: status.ingressAddresses ?? [],
    nodePorts: status.nodePorts ?? null,
    observedGeneration: status.observedGeneration ?? null,
    conditions: (status.conditions ?? []).map(({ lastTransitionTime: _time, ...said }) => said),
  };
}
