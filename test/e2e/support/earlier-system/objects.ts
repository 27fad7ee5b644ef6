/**
 * What the listener-operator writes to the API server, object by object, so that the tests have a cluster as it leaves one. A
 * stand-in: the same objects, fields and ways of writing, and nothing of how it decides when.
 */
import type { Listener, ListenerClass, ListenerIngress, PodListeners } from '../../../../src/api/listeners/index.ts';
import { LISTENER_NAMESPACE_LABEL, LISTENER_NAME_LABEL, podLabelOf, podListenersName } from '../../../../src/api/listeners/names.ts';
import type { KubeObject, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service } from '../../../../src/kube/objects.ts';
import { HarnessError, type Cluster } from '../../../harness/index.ts';
import { API, type Manifest } from '../manifests.ts';
import { collectionOf } from '../paths.ts';

const MANAGER = 'listeners.stackable.tech_listener';
const HOSTNAME = 'listeners.stackable.tech/hostname';

/** A volume with the pod and the claim that it is mounted for. */
interface Mount {
  readonly pod: Pod;
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
}

export class EarlierObjects {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  get<T extends KubeObject>(apiVersion: string, kind: string, name: string, namespace = ''): Promise<T> {
    return this.#cluster.api.get<T>(`${collectionOf(apiVersion, kind, namespace)}/${name}`);
  }

  /** Server-side apply, with force: it takes every field that it writes. */
  apply<T extends KubeObject>(object: Manifest & { readonly status?: unknown }, subresource = ''): Promise<T> {
    const { apiVersion = '', kind = '', metadata } = object;
    const path = `${collectionOf(apiVersion, kind, metadata.namespace ?? '')}/${metadata.name}${subresource}`;
    return this.#cluster.api.patch<T>(`${path}?fieldManager=${MANAGER}&force=true`, object, 'application/apply-patch+yaml');
  }

  /** The Listener of a volume by class, with every port of every container, whether or not they share names. */
  async ofVolume(className: string, { pod, volume, claim }: Mount): Promise<Listener> {
    const ports = (pod.spec?.containers ?? []).flatMap((container) =>
      (container.ports ?? []).map(({ name, containerPort, protocol }) => ({
        name: name ?? `port-${containerPort}`,
        port: containerPort,
        protocol,
      })),
    );
    const { name = '', uid = '' } = volume.metadata;
    return this.apply<Listener>({
      apiVersion: API,
      kind: 'Listener',
      metadata: {
        name: claim.metadata.name ?? '',
        namespace: claim.metadata.namespace ?? '',
        ownerReferences: [{ apiVersion: 'v1', kind: 'PersistentVolume', name, uid }],
        ...(claim.metadata.labels === undefined ? {} : { labels: claim.metadata.labels }),
      },
      spec: { className, extraPodSelectorLabels: {}, ports, publishNotReadyAddresses: true },
    });
  }

  async label(listener: Listener, { pod, volume }: Mount): Promise<void> {
    const { name = '', namespace = '', uid = '' } = listener.metadata;
    const labels = { [LISTENER_NAMESPACE_LABEL]: namespace, [LISTENER_NAME_LABEL]: name };
    await this.apply({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: volume.metadata.name ?? '', labels } });
    const [key, value] = podLabelOf({ name, uid });
    const path = `${collectionOf('v1', 'Pod', namespace)}/${pod.metadata.name}`;
    await this.#cluster.api.patch(path, { metadata: { labels: { [key]: value } } });
  }

  /** The Service and the status of a Listener, as they stand once nothing changes any more. */
  async reconcile(listener: Listener): Promise<Listener> {
    const { name = '', namespace = '', uid = '' } = listener.metadata;
    const of = await this.get<ListenerClass>(API, 'ListenerClass', listener.spec.className ?? '');
    const service = await this.apply<Service>(serviceOf(listener, of));
    const ports = service.spec?.ports ?? [];
    const isNodePort = of.spec.serviceType === 'NodePort';
    const numbers = Object.fromEntries(ports.map((port) => [port.name ?? '', (isNodePort ? port.nodePort : port.port) ?? 0]));
    const addresses = await this.#addresses(listener, of, service);
    const ingressAddresses = addresses.map((each) => ({ ...each, ports: numbers }));
    const status = { serviceName: name, ingressAddresses, ...(isNodePort ? { nodePorts: numbers } : {}) };
    return this.apply<Listener>({ apiVersion: API, kind: 'Listener', metadata: { name, namespace, uid }, status }, '/status');
  }

  async reconcileAll(namespace: string): Promise<void> {
    const { items } = await this.#cluster.api.get<{ readonly items: readonly Listener[] }>(collectionOf(API, 'Listener', namespace));
    for (const listener of items) await this.reconcile(listener);
  }

  async #addresses(
    listener: Listener,
    of: ListenerClass,
    service: Service,
  ): Promise<readonly Pick<ListenerIngress, 'address' | 'addressType'>[]> {
    const { name = '', namespace = '' } = listener.metadata;
    if (of.spec.serviceType === 'ClusterIP') return [{ address: `${name}.${namespace}.svc.cluster.local`, addressType: 'Hostname' }];
    if (of.spec.serviceType === 'LoadBalancer') {
      return (service.status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ({
        address: hostname ?? ip ?? '',
        addressType: hostname === undefined ? 'IP' : 'Hostname',
      }));
    }
    const nodes = [...(await this.#nodesOf(listener))].toSorted();
    return Promise.all(nodes.map((node) => this.addressOf(node)));
  }

  /** Addresses of the first kind that the node has: never more than one. */
  async addressOf(node: string): Promise<Pick<ListenerIngress, 'address' | 'addressType'>> {
    const { status } = await this.get<Node>('v1', 'Node', node);
    const addresses = status?.addresses ?? [];
    const found = ['ExternalIP', 'InternalIP'].flatMap((kind) => addresses.filter(({ type }) => type === kind))[0];
    if (found === undefined) throw new HarnessError('NO_CLUSTER', `node ${node} has no address`);
    return { address: found.address, addressType: 'IP' };
  }

  /** Nodes that its volumes are pinned to, or else those of its endpoints. */
  async #nodesOf(listener: Listener): Promise<ReadonlySet<string>> {
    const { name = '', namespace = '' } = listener.metadata;
    const selector = encodeURIComponent(`${LISTENER_NAMESPACE_LABEL}=${namespace},${LISTENER_NAME_LABEL}=${name}`);
    const volumes = await this.#cluster.api.get<{ readonly items: readonly PersistentVolume[] }>(
      `/api/v1/persistentvolumes?labelSelector=${selector}`,
    );
    const pinned = volumes.items.flatMap(({ spec }) =>
      (spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [])
        .flatMap(({ matchExpressions = [] }) => matchExpressions)
        .filter(({ key, operator }) => key === HOSTNAME && operator === 'In')
        .flatMap(({ values = [] }) => values),
    );
    const [key, value] = podLabelOf({ name, uid: listener.metadata.uid ?? '' });
    const pods = await this.#cluster.api.get<{ readonly items: readonly (Pod & { readonly status?: { readonly podIP?: string } })[] }>(
      `${collectionOf('v1', 'Pod', namespace)}?labelSelector=${encodeURIComponent(`${key}=${value}`)}`,
    );
    const running = pods.items.filter(({ status }) => status?.podIP !== undefined);
    return new Set([...pinned, ...running.flatMap(({ spec }) => spec?.nodeName ?? [])]);
  }

  /** The addresses that this pod receives: its own node's address where there are node ports. */
  async entryFor(
    listener: Listener,
    pod: Pod,
  ): Promise<{ readonly scope: 'Node' | 'Cluster'; readonly ingressAddresses: readonly ListenerIngress[] }> {
    const { nodePorts, ingressAddresses } = listener.status ?? {};
    if (nodePorts === undefined || nodePorts === null) return { scope: 'Cluster', ingressAddresses: ingressAddresses ?? [] };
    const address = await this.addressOf(pod.spec?.nodeName ?? '');
    return { scope: 'Node', ingressAddresses: [{ ...address, ports: nodePorts }] };
  }

  /** Created for the pod's first volume, merged into for the others. */
  async publish(pod: Pod, claimName: string, entry: unknown): Promise<void> {
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const volume = (pod.spec?.volumes ?? []).find(
      (each) =>
        each.persistentVolumeClaim?.claimName === claimName || (each.ephemeral !== undefined && `${name}-${each.name}` === claimName),
    );
    const object: Manifest & Pick<PodListeners, 'metadata'> = {
      apiVersion: API,
      kind: 'PodListeners',
      metadata: { name: podListenersName(uid), namespace, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
      spec: { listeners: { [volume?.name ?? '']: entry } },
    };
    const path = collectionOf(API, 'PodListeners', namespace);
    await this.#cluster.api.create(path, object).catch(() => this.#cluster.api.patch(`${path}/${object.metadata.name}`, object));
  }
}

/** The last of two ports with one protocol and name is left; they are in that order. */
function serviceOf(listener: Listener, of: ListenerClass): Manifest {
  const { name = '', namespace = '', uid = '', labels } = listener.metadata;
  const { extraPodSelectorLabels, publishNotReadyAddresses } = listener.spec;
  const { serviceType, serviceAnnotations, serviceExternalTrafficPolicy, loadBalancerClass, loadBalancerAllocateNodePorts } = of.spec;
  const ports = new Map((listener.spec.ports ?? []).map((port) => [`${port.protocol ?? ''}/${port.name}`, port]));
  const sorted = [...ports]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { name: portName, port, protocol }]) => ({ name: portName, port, protocol }));
  const [key, value] = podLabelOf({ name, uid });
  const isLoadBalancer = serviceType === 'LoadBalancer';
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace,
      annotations: serviceAnnotations ?? {},
      labels: {
        ...labels,
        'app.kubernetes.io/instance': name,
        'app.kubernetes.io/managed-by': 'listeners.stackable.tech_listener',
        'app.kubernetes.io/name': 'listener',
      },
      ownerReferences: [{ apiVersion: API, kind: 'Listener', name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      type: serviceType,
      ports: sorted,
      selector: { ...extraPodSelectorLabels, [key]: value },
      publishNotReadyAddresses: publishNotReadyAddresses ?? false,
      ...(serviceType === 'ClusterIP' ? {} : { externalTrafficPolicy: serviceExternalTrafficPolicy }),
      ...(isLoadBalancer ? { allocateLoadBalancerNodePorts: loadBalancerAllocateNodePorts, loadBalancerClass } : {}),
    },
  };
}
