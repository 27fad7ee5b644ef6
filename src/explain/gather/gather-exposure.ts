/** Gathers the facts about objects of the exposure half with the rights of the user. A missing right makes one fact unknown. */
import { connect } from 'node:net';
import { listenerClasses, listeners, podListeners, type Listener, type PodListeners } from '../../api/listeners/index.ts';
import {
  DRIVER_NAME,
  LISTENER_CLASS_ANNOTATION,
  LISTENER_NAME_ANNOTATION,
  LISTENER_NAME_LABEL,
  podListenersName,
} from '../../api/listeners/names.ts';
import { storageClassOf } from '../../exposure/cluster/claims.ts';
import { findUnreadable, readableClass, readableListener, unreadableText } from '../../exposure/cluster/readable.ts';
import { claimNameOf } from '../../exposure/cluster/starting-pods.ts';
import { hasCode } from '../../files/errno.ts';
import type { KubeClient, PodAccess, Selection } from '../../kube/contract.ts';
import { isForbidden } from '../../kube/errors.ts';
import { endOfLease, isAbandoned } from '../../kube/lease/abandoned-lease.ts';
import { holderOf, leases, type Lease } from '../../kube/lease/lease-record.ts';
import type { EndpointSlice, KubeObject, Node, PersistentVolume, PersistentVolumeClaim, Service } from '../../kube/objects.ts';
import {
  endpointSlices,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  resource,
  services,
  storageClasses,
  wholeName,
  type Resource,
} from '../../kube/resource.ts';
import { printable } from '../../text/printable.ts';
import { withoutUndefined } from '../../text/untrusted-fields.ts';
import { valueOf, type Source } from '../connection/site-facts.ts';
import type {
  ClaimFacts,
  ClassFacts,
  CsiNode,
  EventFacts,
  ExposureFacts,
  LeaseFacts,
  ListenerFacts,
  PodFacts,
  ProbeResult,
} from '../exposure/exposure-facts.ts';
import { askDriver } from './driver-volumes.ts';
import { readSource, SOURCE_DEADLINE } from './read-source.ts';

/** Where exposed objects are read. */
export interface ExposurePlace {
  readonly client: Pick<KubeClient, 'find' | 'list'> & Partial<Pick<PodAccess, 'getFromPod'>>;
  readonly namespace: string;
  /** Whether to connect to the addresses. */
  readonly probe: boolean;
  /**
   * Whether the rights are those of the account of a console in the cluster, not of a user. A node names volumes of other namespaces, and
   * the account may get a volume by its name. So it reads no nodes.
   */
  readonly isConsole?: boolean;
}

export const events = resource<CoreEvent>('v1', 'Event', 'events');
export const csiNodes = resource<CsiNode>('storage.k8s.io/v1', 'CSINode', 'csinodes', 'cluster');

/** core/v1. */
interface CoreEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly uid?: string };
  readonly reportingComponent?: string;
  readonly source?: { readonly component?: string };
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly lastObservedTime?: string };
}

/** Name of the Lease of the exposure controller, in whatever namespace it is installed. */
const LEASE = 'earshot-controller';
/** Label that the EndpointSlice controller sets. */
const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
const MOST_OBJECTS = 5_000;
const MOST_NODES = 20;
const MOST_PROBES = 32;

/** Facts that all objects of a namespace have in common. They never reject. */
interface SharedFacts {
  readonly common: Promise<ExposureFacts>;
  readonly listeners: Promise<Source<readonly Listener[]>>;
  /** Of `findRefusedWorkloads`. */
  readonly workloads?: Promise<ListenerFacts['workloads']>;
}

export function gatherShared(place: ExposurePlace): SharedFacts {
  return { common: gatherCommon(place), listeners: listReadable(place) };
}

export async function gatherListener(
  place: ExposurePlace,
  name: string,
  shared: Pick<SharedFacts, 'common' | 'workloads'> = { common: gatherCommon(place) },
): Promise<ListenerFacts | undefined> {
  const { client, namespace } = place;
  const key = { namespace, name };
  const [found, common, workloads, service, serviceEvents, slices] = await Promise.all([
    client.find(listeners, key),
    shared.common,
    shared.workloads,
    find(place, services, name),
    eventsOf(place, 'Service', name),
    list(place, endpointSlices, { namespace, labelSelector: `${SERVICE_NAME_LABEL}=${name}` }),
  ]);
  if (found === undefined) return undefined;
  const listener = readableListener(found);
  const selector = valueOf(service)?.spec?.selector;
  const [selected, around, probes] = await Promise.all([
    selector === undefined ? { value: [] } : list(place, pods, { namespace, labelSelector: selectorText(selector) }),
    place.isConsole === true ? undefined : findNodes(place, nodeNamesIn(valueOf(slices) ?? [])),
    place.probe ? probeAll(listener) : undefined,
  ]);
  const uid = valueOf(service)?.metadata.uid;
  return {
    ...common,
    listener,
    service,
    serviceEvents: mapped(serviceEvents, (all) => all.filter((each) => uid === undefined || each.uid === uid)),
    pods: selected,
    endpoints: slices,
    ...withoutUndefined({ nodes: around, probes, workloads }),
  };
}

/** The API server writes null for a slice without endpoints. */
function nodeNamesIn(slices: readonly EndpointSlice[]): readonly string[] {
  return slices.flatMap((slice) => (slice.endpoints ?? []).flatMap(({ nodeName }) => nodeName ?? []));
}

export async function gatherClass(place: ExposurePlace, name: string): Promise<ClassFacts | undefined> {
  const [found, common, all, balanced] = await Promise.all([
    place.client.find(listenerClasses, { name }),
    gatherCommon(place),
    list(place, listeners, {}),
    list(place, services, { labelSelector: LISTENER_NAME_LABEL }),
  ]);
  if (found === undefined) return undefined;
  const ofClass = mapped(all, (each) => each.map(readableListener).filter(({ spec }) => spec.className === name));
  const keys = new Set((valueOf(ofClass) ?? []).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  return {
    ...common,
    listenerClass: readableClass(found),
    listeners: ofClass,
    services:
      'unknown' in ofClass
        ? ofClass
        : mapped(balanced, (each) => each.filter(({ metadata }) => keys.has(`${metadata.namespace}/${metadata.name}`))),
  };
}

export async function gatherClaim(place: ExposurePlace, name: string): Promise<ClaimFacts | undefined> {
  const shared = gatherShared(place);
  const [claim, common, all] = await Promise.all([
    place.client.find(persistentVolumeClaims, { namespace: place.namespace, name }),
    shared.common,
    shared.listeners,
  ]);
  return claim === undefined ? undefined : claimFacts(place, { name, claim: { value: claim }, common, listeners: all });
}

export async function gatherPod(place: ExposurePlace, name: string, shared = gatherShared(place)): Promise<PodFacts | undefined> {
  const { client, namespace } = place;
  const [pod, common, podEvents, all] = await Promise.all([
    client.find(pods, { namespace, name }),
    shared.common,
    eventsOf(place, 'Pod', name),
    shared.listeners,
  ]);
  if (pod === undefined) return undefined;
  const { uid = '' } = pod.metadata;
  const { nodeName } = pod.spec ?? {};
  const names = [...new Set((pod.spec?.volumes ?? []).flatMap((volume) => claimNameOf(volume, name) ?? []))];
  const [found, csiNode, request, driverVolumes] = await Promise.all([
    Promise.all(
      names.map(async (each) =>
        claimFacts(place, { name: each, claim: await find(place, persistentVolumeClaims, each), common, listeners: all }),
      ),
    ),
    nodeName === undefined ? { value: undefined } : find(place, csiNodes, nodeName),
    find(place, podListeners, podListenersName(uid)),
    nodeName === undefined ? undefined : gatherDriverVolumes(place, nodeName),
  ]);
  return {
    ...common,
    pod,
    claims: found.filter(isListenerVolume),
    podEvents: mapped(podEvents, (each) => each.filter((event) => event.uid === uid)),
    csiNode,
    podListeners: readableRequest(request),
    ...(driverVolumes === undefined ? {} : { driverVolumes }),
  };
}

function readableRequest(request: Source<PodListeners | undefined>): Source<PodListeners | undefined> {
  const found = valueOf(request);
  const reason = found === undefined ? undefined : findUnreadable(found);
  if (found === undefined || reason === undefined) return request;
  return { unknown: unreadableText(`PodListeners ${found.metadata.name}`, reason) };
}

/** Label of the driver's DaemonSet and pods in the chart. */
export const DRIVER_PODS = 'app.kubernetes.io/component=node';

/** Volumes of a node. Undefined if the user may not see the driver's pod. */
async function gatherDriverVolumes(place: ExposurePlace, nodeName: string): Promise<PodFacts['driverVolumes']> {
  const { getFromPod } = place.client;
  if (getFromPod === undefined || place.isConsole === true) return undefined;
  const selection = { labelSelector: DRIVER_PODS, fieldSelector: `spec.nodeName=${nodeName}` };
  const found = await Promise.all((await leaseNamespaces(place)).map((namespace) => list(place, pods, { namespace, ...selection })));
  const { metadata: { name, namespace = '' } = {} } = found.flatMap((source) => valueOf(source) ?? [])[0] ?? {};
  return name === undefined ? undefined : askDriver({ getFromPod: getFromPod.bind(place.client) }, { namespace, name });
}

/** Whether the claim is, or is meant to be, for a listener volume. Other claims of a pod are not explained. */
function isListenerVolume({ claim, storageClass }: Pick<ClaimFacts, 'claim' | 'storageClass'>): boolean {
  const found = valueOf(claim);
  if (found === undefined) return 'unknown' in claim;
  return namesListener(found) || valueOf(storageClass)?.provisioner === DRIVER_NAME;
}

/** Whether the claim itself says that it is for a listener volume. */
export function namesListener(claim: PersistentVolumeClaim): boolean {
  const annotations = Object.keys(claim.metadata.annotations ?? {});
  return (
    storageClassOf(claim) === DRIVER_NAME ||
    [LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION].some((annotation) => annotations.includes(annotation))
  );
}

async function listReadable(place: ExposurePlace): Promise<Source<readonly Listener[]>> {
  return mapped(await listAll(place, listeners), (all) => all.map(readableListener));
}

async function claimFacts(
  place: ExposurePlace,
  known: {
    readonly name: string;
    readonly claim: Source<PersistentVolumeClaim | undefined>;
    readonly common: ExposureFacts;
    readonly listeners: Source<readonly Listener[]>;
  },
): Promise<ClaimFacts> {
  const claim = valueOf(known.claim);
  const className = claim === undefined ? '' : storageClassOf(claim);
  const [storageClass, claimEvents] = await Promise.all([
    className === '' ? { value: undefined } : find(place, storageClasses, className),
    eventsOf(place, 'PersistentVolumeClaim', known.name),
  ]);
  const isExamined = claim !== undefined && isListenerVolume({ claim: known.claim, storageClass });
  const volume = isExamined ? await findVolume(place, claim) : { value: undefined };
  const uid = claim?.metadata.uid;
  return {
    ...known.common,
    name: known.name,
    claim: known.claim,
    storageClass,
    volume,
    claimEvents: mapped(claimEvents, (all) => all.filter((event) => event.uid === uid)),
    listeners: known.listeners,
  };
}

/** The volume that is bound to the claim. A claim can name any volume of the cluster: that of another claim is omitted. */
export async function findVolume(place: ExposurePlace, claim: PersistentVolumeClaim): Promise<Source<PersistentVolume | undefined>> {
  const volumeName = claim.spec?.volumeName ?? '';
  if (volumeName === '') return { value: undefined };
  return mapped(await find(place, persistentVolumes, volumeName), (volume) => {
    const { namespace, name } = volume?.spec?.claimRef ?? {};
    return namespace === place.namespace && name === claim.metadata.name ? volume : undefined;
  });
}

export async function gatherCommon(place: ExposurePlace): Promise<ExposureFacts> {
  const [all, classes] = await Promise.all([
    list(place, leases, { fieldSelector: `metadata.name=${LEASE}` }),
    list(place, listenerClasses, {}),
  ]);
  const now = Date.now();
  // An installation that was removed leaves its Lease in its namespace.
  const lease = mapped(all, (found) => found.toSorted((one, other) => endOfLease(other) - endOfLease(one))[0]);
  return {
    now,
    lease: 'unknown' in lease ? lease : { value: lease.value && (await leaseFacts(place, lease.value, now)) },
    classes: mapped(classes, (each) => each.map(readableClass)),
  };
}

/** The account of a console may not read pods of other namespaces. */
async function leaseFacts({ client, isConsole }: ExposurePlace, lease: Lease, now: number): Promise<LeaseFacts> {
  const { metadata } = lease;
  const holder = holderOf(lease);
  const hasNoHolder = isConsole !== true && (await isAbandoned(client, lease, now));
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    ...(holder === undefined ? {} : { holder }),
    endsAt: endOfLease(lease),
    ...(hasNoHolder ? { isAbandoned: true } : {}),
  };
}

/** Namespaces in which the exposure controller has led; empty if they cannot be listed. */
export async function leaseNamespaces(place: ExposurePlace): Promise<readonly string[]> {
  const found = await list(place, leases, { fieldSelector: `metadata.name=${LEASE}` });
  return (valueOf(found) ?? []).map(({ metadata }) => metadata.namespace ?? '');
}

/** All objects of a kind in the namespace, or in the cluster. */
export function listAll<T extends KubeObject>(place: ExposurePlace, of: Resource<T>): Promise<Source<readonly T[]>> {
  return list(place, of, of.namespaced ? { namespace: place.namespace } : {});
}

/** Names of existing objects, for suggestions; empty if they cannot be listed. */
export async function namesOfKind(place: ExposurePlace, of: Resource): Promise<readonly string[]> {
  return (valueOf(await listAll(place, of)) ?? []).map(({ metadata }) => metadata.name ?? '');
}

export function find<T extends KubeObject>(place: ExposurePlace, of: Resource<T>, name: string): Promise<Source<T | undefined>> {
  const { client, namespace } = place;
  const key = of.namespaced ? { namespace, name } : { name };
  return readApi(lackOf(place, 'get', of, key.namespace), of, () => client.find(of, key));
}

export function list<T extends KubeObject>(place: ExposurePlace, of: Resource<T>, selection: Selection): Promise<Source<readonly T[]>> {
  return readApi(lackOf(place, 'list', of, selection.namespace), of, async () => {
    const found: T[] = [];
    for await (const object of place.client.list(of, selection)) if (found.push(object) >= MOST_OBJECTS) break;
    return found;
  });
}

/** Reason for a fact that is unknown because a right is missing. @param namespace undefined for the cluster */
export function lackOf({ isConsole }: Pick<ExposurePlace, 'isConsole'>, verb: string, of: Resource, namespace?: string): string {
  const subject = isConsole === true ? "the console's account has" : 'you have';
  return `${subject} no right to ${verb} ${wholeName(of)} ${namespace === undefined ? 'in the cluster' : `in the namespace ${namespace}`}`;
}

/** @param lack reason if the right to read it is missing */
async function readApi<T>(lack: string, of: Resource, read: () => Promise<T>): Promise<Source<T>> {
  let isDenied = false;
  const source = await readSource(wholeName(of), () =>
    read().catch((error: unknown) => {
      isDenied = isForbidden(error);
      throw error;
    }),
  );
  return isDenied ? { unknown: lack } : source;
}

async function findNodes(place: ExposurePlace, names: readonly string[]): Promise<Source<readonly Node[]>> {
  const found = await Promise.all([...new Set(names)].slice(0, MOST_NODES).map((name) => find(place, nodes, name)));
  const unknown = found.find((source) => 'unknown' in source);
  return unknown ?? { value: found.flatMap((source) => valueOf(source) ?? []) };
}

export interface OwnedEvent extends EventFacts {
  readonly uid: string;
}

/** Oldest first. */
export async function eventsOf(place: ExposurePlace, kind: string, name: string): Promise<Source<readonly OwnedEvent[]>> {
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const found = await list(place, events, { namespace: place.namespace, fieldSelector });
  return mapped(found, (all) => all.map(eventFacts).toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at)));
}

function eventFacts(event: CoreEvent): OwnedEvent {
  const { type = '', reason = '', message = '', involvedObject, reportingComponent = '', source, metadata } = event;
  return {
    type,
    reason: printable(reason, MOST_NAME),
    message: printable(message, MOST_CHARACTERS),
    reporter: printable(reportingComponent === '' ? (source?.component ?? '') : reportingComponent, MOST_NAME),
    at: event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? metadata.creationTimestamp ?? '',
    uid: involvedObject?.uid ?? '',
  };
}

const MOST_NAME = 253;
const MOST_CHARACTERS = 1_024;

/** The source with another value; an unknown one stays unknown. */
export function mapped<T, U>(source: Source<T>, map: (value: T) => U): Source<U> {
  return 'value' in source ? { value: map(source.value) } : source;
}

export function selectorText(selector: NonNullable<NonNullable<Service['spec']>['selector']>): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** Connects to each address and port of the Listener, all at once. */
function probeAll({ status }: Listener): Promise<readonly ProbeResult[]> {
  const all = (status?.ingressAddresses ?? []).flatMap(({ address, ports }) => Object.values(ports).map((port) => ({ address, port })));
  return Promise.all(all.slice(0, MOST_PROBES).map(({ address, port }) => probeTcp(address, port)));
}

function probeTcp(address: string, port: number): Promise<ProbeResult> {
  const start = performance.now();
  const { promise, resolve } = Promise.withResolvers<ProbeResult>();
  const end = (result: ProbeResult['result']): void => {
    resolve({ address: printable(address, MOST_NAME), port, result, milliseconds: performance.now() - start });
    socket.destroy();
  };
  const socket = connect({ host: address, port, timeout: SOURCE_DEADLINE });
  socket.on('connect', () => end('open'));
  socket.on('timeout', () => end('silent'));
  socket.on('error', (error) => end(hasCode(error, 'ECONNREFUSED') ? 'refused' : 'failed'));
  return promise;
}
