/** One exposed object for the console, from facts (pure). */
import { valueOf } from '../explain/connection/site-facts.ts';
import type { EventFacts, ListenerFacts, PodFacts } from '../explain/exposure/exposure-facts.ts';
import type { Source } from '../explain/connection/site-facts.ts';
import { pinnedNodesOf, targetOf } from '../exposure/cluster/volumes.ts';
import { API_VERSION } from '../api/listeners/names.ts';
import { limitTable } from '../limits/table.ts';
import { shortened } from '../text/printable.ts';
import { shellWord } from '../text/shell-word.ts';
import { withoutUndefined } from '../text/untrusted-fields.ts';
import { writeYaml } from '../text/write-yaml.ts';
import type { BackendView, ClassDetailView, EventView, ExposedListenerDetailView, ExposedPodDetailView, VolumeView } from './contract.ts';
import { portsOf, shownName, type ExposureView } from './exposure-views.ts';
import { conditionsOf } from './problems.ts';

const MOST_PARTS = limitTable.consoleExposedParts.value;
const MOST_YAML = limitTable.consoleYaml.value;

export function classDetail({ facts, classes, listeners }: ExposureView, name: string): ClassDetailView | undefined {
  const view = classes.find((each) => each.name === name);
  const object = valueOf(facts.classes)?.find(({ metadata }) => metadata.name === name);
  if (view === undefined || object === undefined) return undefined;
  return {
    ...view,
    items: listeners.filter(({ className }) => className === name),
    yaml: yamlOf('ListenerClass', object),
    command: `kubectl get listenerclasses.listeners.stackable.tech ${shellWord(name)} -o yaml`,
  };
}

export function listenerDetail(exposure: ExposureView, name: string): ExposedListenerDetailView | undefined {
  const { facts, listeners } = exposure;
  const view = listeners.find((each) => each.name === name);
  const found = valueOf(facts.listeners)?.find(({ listener }) => listener.metadata.name === name);
  if (view === undefined || found === undefined) return undefined;
  const service = serviceOf(found);
  return {
    ...view,
    ingress: (found.listener.status?.ingressAddresses ?? [])
      .slice(0, MOST_PARTS)
      .map((ingress) => ({
        address: shownName(ingress.address),
        type: shownName(ingress.addressType),
        ports: portsOf(ingress).join(', '),
      })),
    ...(service === undefined ? {} : { service }),
    backends: backendsOf(exposure, found, name),
    volumes: volumesOf(exposure, name),
    conditions: conditionsOf(found.listener),
    events: eventViews(found.serviceEvents),
    yaml: yamlOf('Listener', found.listener),
    command: `kubectl get listeners.listeners.stackable.tech ${shellWord(name)} -n ${shellWord(facts.namespace)} -o yaml`,
  };
}

export function podDetail({ facts, pods }: ExposureView, name: string): ExposedPodDetailView | undefined {
  const view = pods.find((each) => each.name === name);
  const found = valueOf(facts.pods)?.find(({ pod }) => pod.metadata.name === name);
  if (view === undefined || found === undefined) return undefined;
  return {
    ...view,
    conditions: conditionsOf(found.pod),
    events: eventViews(found.podEvents),
    command: `kubectl describe pod ${shellWord(name)} -n ${shellWord(facts.namespace)}`,
  };
}

function serviceOf({ service }: ListenerFacts): ExposedListenerDetailView['service'] {
  const found = valueOf(service);
  if (found === undefined) return undefined;
  const { type = 'ClusterIP', clusterIP = '', clusterIPs = [clusterIP], externalTrafficPolicy, loadBalancerClass } = found.spec ?? {};
  return {
    name: shownName(found.metadata.name ?? ''),
    type: shownName(type),
    clusterIps: clusterIPs.filter((address) => address !== '').map(shownName),
    ...withoutUndefined({
      trafficPolicy: externalTrafficPolicy === undefined ? undefined : shownName(externalTrafficPolicy),
      loadBalancerClass: loadBalancerClass === undefined ? undefined : shownName(loadBalancerClass),
    }),
  };
}

/** A pod can mount a Listener and not be behind it, for example for want of a label. */
function backendsOf({ pods }: ExposureView, { pods: selected }: ListenerFacts, name: string): readonly BackendView[] {
  const behind = valueOf(selected) ?? [];
  const selectedNames = new Set(behind.map(({ metadata }) => shownName(metadata.name ?? '')));
  const mounting = pods.flatMap((pod) => pod.mounts.filter(({ listener }) => listener === name).map((mount) => ({ pod, mount })));
  const mountingNames = new Set(mounting.map(({ pod }) => pod.name));
  const isPodReady = (pod: PodFacts['pod']): boolean =>
    pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  const others = behind.filter(({ metadata }) => !mountingNames.has(shownName(metadata.name ?? '')));
  return [
    ...mounting.map(({ pod, mount }) => ({
      name: pod.name,
      ...withoutUndefined({ node: pod.node }),
      ready: pod.ready,
      selected: selectedNames.has(pod.name) || 'unknown' in selected,
      mount,
    })),
    ...others.map((pod) => ({
      name: shownName(pod.metadata.name ?? ''),
      ...withoutUndefined({ node: pod.spec?.nodeName === undefined ? undefined : shownName(pod.spec.nodeName) }),
      ready: isPodReady(pod),
      selected: true,
    })),
  ].slice(0, MOST_PARTS);
}

function volumesOf({ facts }: ExposureView, name: string): readonly VolumeView[] {
  return (valueOf(facts.volumes) ?? [])
    .filter((volume) => targetOf(volume)?.name === name)
    .slice(0, MOST_PARTS)
    .map((volume) => ({
      name: shownName(volume.metadata.name ?? ''),
      claim: shownName(volume.spec?.claimRef?.name ?? ''),
      phase: shownName(volume.status?.phase ?? ''),
      pinnedTo: pinnedNodesOf(volume).slice(0, MOST_PARTS).map(shownName),
    }));
}

/** Gathered events are safe to display, and in the order of time. */
function eventViews(events: Source<readonly EventFacts[]>): readonly EventView[] {
  const latest = (valueOf(events) ?? []).toReversed().slice(0, MOST_PARTS);
  return latest.map(({ type, reason, message, reporter, at }) => ({ type: shownName(type), reason, message, reporter, at }));
}

interface Shown {
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly generation?: number;
    readonly creationTimestamp?: string;
  };
  readonly spec: object;
  readonly status?: object | null;
}

/** Annotations are left out: `kubectl apply` repeats the whole object there. */
function yamlOf(kind: string, { metadata, spec, status }: Shown): string {
  const { name, namespace, generation, creationTimestamp } = metadata;
  const text = writeYaml({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, namespace, generation, creationTimestamp },
    spec,
    status: status ?? undefined,
  });
  return shortened(text, MOST_YAML);
}
