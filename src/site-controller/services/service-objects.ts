import { annotation, label, NETWORK_DATA, NETWORK_STATUS, ROUTER_SELECTOR } from '../../api/skupper/cluster-names.ts';
import type { Service } from '../../kube/objects.ts';
import { configMaps, services as serviceResource } from '../../kube/resource.ts';
import { runToEnd, type Sliced } from '../../limits/sliced.ts';
import type { NamespaceService } from '../../site/material.ts';
import { namespaceService } from '../../site/namespace-service.ts';
import { podKeysIn } from '../../site/pod-keys.ts';
import { portNameOf } from '../../site/plan/service-names.ts';
import { planServicePorts, type DesiredService } from '../../site/plan/service-ports.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../../site/resources.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import { emptyDesiredState, type DesiredObject, type DesiredState } from '../desired-state.ts';

/**
 * Services of Listeners and MultiKeyListeners, and those of the pods behind them. The leading router of the site plans by the same rule and
 * reports the problems of listeners.
 */
export function serviceObjects(view: NamespaceView): DesiredState {
  return runToEnd(planServiceObjects(view));
}

/** The same in slices. */
export function* planServiceObjects(view: NamespaceView): Sliced<DesiredState> {
  if (view.site === undefined) return emptyDesiredState;
  const site = ownerOf(view.site);
  const there = view.list(serviceResource);
  const networkStatus = view.find(configMaps, NETWORK_STATUS);
  const podKeys = podKeysIn(networkStatus?.data?.[NETWORK_DATA.podKeys]);
  const material = { services: there.map(readService), podKeys: podKeys ?? [] };
  yield;
  const { services } = yield* planServicePorts(view.resources, material);
  yield;
  const held = new Set([
    ...servicesWithPort(there, view.unreadable.filter(({ kind }) => kind === 'Listener' || kind === 'MultiKeyListener').map(keyOf)),
    // The pods are unknown now.
    ...(podKeys === undefined ? podServices(there, view.resources) : []),
  ]);
  yield;
  const desired = new Set([...services.map(({ name }) => name), ...held]);
  const isOurs = (service: Service): boolean => {
    const { label: value, controlled } = readService(service);
    return value !== undefined && controlled;
  };
  return {
    objects: services.filter(({ name }) => !held.has(name)).map((service) => desiredFor(service, site)),
    obsolete: there
      .filter((service) => isOurs(service) && !desired.has(service.metadata.name ?? ''))
      .map((object) => ({ of: serviceResource, object })),
    problems: [],
  };
}

/** Caches the parsed form of each version of a Service. */
const read = new WeakMap<Service, NamespaceService>();

function readService(service: Service): NamespaceService {
  return read.getOrInsertComputed(service, () => namespaceService(service));
}

/** Services with a port of one of these listeners, which are unreadable now. Those Services stay unchanged. */
function servicesWithPort(there: readonly Service[], listeners: readonly ResourceKey[]): readonly string[] {
  const ports = new Set(listeners.map(portNameOf));
  const held = there.filter(({ spec }) => ports.size > 0 && (spec?.ports ?? []).some(({ name = '' }) => ports.has(name)));
  return held.map(({ metadata }) => metadata.name ?? '');
}

function podServices(there: readonly Service[], { Listener }: SiteResources): readonly string[] {
  const exposing = Listener.filter(({ spec }) => spec.exposePodsByName === true);
  const ofHosts = new Set(Listener.map(({ spec }) => spec.host));
  return servicesWithPort(there, exposing.map(keyOf)).filter((name) => !ofHosts.has(name));
}

/** A foreign Service keeps its owners, and deleting the listeners does not delete it. */
function desiredFor({ name, label: value, controlled, ports }: DesiredService, site: ReturnType<typeof ownerOf>): DesiredObject<Service> {
  const metadata = controlled ? { annotations: { [annotation.controlled]: 'true' }, ownerReferences: [site] } : {};
  return {
    of: serviceResource,
    object: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, labels: { [label.listener]: value }, ...metadata },
      spec: {
        // A foreign Service keeps its IP families.
        ...(controlled ? { ipFamilyPolicy: 'PreferDualStack' } : {}),
        selector: ROUTER_SELECTOR,
        ports: ports.map((each) => ({ name: each.name, port: each.port, protocol: 'TCP', targetPort: each.routerPort })),
      },
    },
    for: ports[0].listener,
  };
}
