/**
 * Manifests as operators of products write them, in the shapes that their client library gives them: every optional field of a
 * Listener is there, null if unset; labels are the recommended ones; claims ask for one byte that many may write.
 */
import type { Listener, ListenerPort } from '../../../src/api/listeners/index.ts';
import type { Container, StringMap } from '../../../src/kube/objects.ts';

const GROUP = 'listeners.stackable.tech';
const TCP = 'TCP';

/** A volume of a pod, which becomes a claim template of a StatefulSet or a volume of its own. */
export interface ProductVolume {
  readonly name: string;
  readonly annotations: StringMap;
  readonly kind: 'template' | 'ephemeral';
}

/** One role of one product: its pods, and the Listener that they share where there is one. */
export interface ProductRole {
  readonly product: string;
  readonly role: string;
  readonly listener?: Listener;
  readonly volumes: readonly ProductVolume[];
  readonly containers: readonly Container[];
  /** Files that its scripts read of each volume, below default-address/ports. */
  readonly reads: Readonly<Record<string, readonly string[]>>;
}

export const productRoles: readonly ProductRole[] = [
  {
    product: 'kafka',
    role: 'broker',
    listener: shared('kafka', 'broker', 'simple-kafka-broker-default-bootstrap', 'external-unstable', [
      { name: 'kafka', port: 9092, protocol: TCP },
    ]),
    volumes: [byClass('listener-broker', 'external-stable'), byName('listener-bootstrap', 'simple-kafka-broker-default-bootstrap')],
    containers: [container('kafka', { metrics: 9606, kafka: 9092 }), { name: 'kcat-prober' }],
    reads: { 'listener-broker': ['kafka'], 'listener-bootstrap': ['kafka'] },
  },
  {
    product: 'hdfs',
    role: 'namenode',
    volumes: [byClass('listener', 'cluster-internal')],
    containers: [container('namenode', { metrics: 8183, rpc: 8020, http: 9870 }), { name: 'zkfc' }],
    reads: { listener: ['metrics', 'rpc', 'http'] },
  },
  {
    product: 'hdfs',
    role: 'datanode',
    volumes: [{ ...byClass('listener', 'external-unstable'), kind: 'ephemeral' }],
    containers: [container('datanode', { metrics: 8082, data: 9866, ipc: 9867, http: 9864 })],
    reads: { listener: ['metrics', 'data', 'ipc', 'http'] },
  },
  {
    product: 'hbase',
    role: 'master',
    volumes: [{ ...byClass('listener', 'cluster-internal'), kind: 'ephemeral' }],
    containers: [container('hbase', { master: 16_000, 'ui-http': 16_010, metrics: 9100 })],
    reads: { listener: ['master', 'ui-http'] },
  },
  {
    product: 'nifi',
    role: 'node',
    listener: shared('nifi', 'node', 'simple-nifi-node', 'external-unstable', [{ name: 'https', port: 8443, protocol: TCP }]),
    volumes: [byName('listener', 'simple-nifi-node')],
    containers: [container('nifi', { https: 8443, protocol: 9088, 'load-balance': 6342 })],
    reads: { listener: ['https'] },
  },
  {
    product: 'trino',
    role: 'coordinator',
    listener: shared('trino', 'coordinator', 'simple-trino-coordinator', 'cluster-internal', [
      { name: 'https', port: 8443, protocol: TCP },
    ]),
    volumes: [byName('listener', 'simple-trino-coordinator')],
    containers: [container('trino', { https: 8443, metrics: 8081 })],
    reads: { listener: ['https'] },
  },
  {
    product: 'druid',
    role: 'router',
    listener: shared('druid', 'router', 'simple-druid-router', 'external-stable', [
      { name: 'plaintext', port: 8888, protocol: TCP },
      { name: 'tls', port: 9088, protocol: TCP },
    ]),
    volumes: [byName('listener', 'simple-druid-router')],
    containers: [container('druid', { plaintext: 8888, tls: 9088, metrics: 9090 })],
    reads: { listener: ['plaintext', 'tls'] },
  },
];

/** As operators label whatever they make for a role. */
export function recommendedLabels(product: string, role: string): StringMap {
  return {
    'app.kubernetes.io/component': role,
    'app.kubernetes.io/instance': `simple-${product}`,
    'app.kubernetes.io/managed-by': `${product}.stackable.tech_${product}cluster`,
    'app.kubernetes.io/name': product,
    'app.kubernetes.io/role-group': 'default',
    'app.kubernetes.io/version': '1.0.0-stackable0.0.0-dev',
    'stackable.tech/vendor': 'Stackable',
  };
}

/** The claim of a volume, but for its name. */
export function claimOf({ product, role }: ProductRole, { annotations }: ProductVolume) {
  return {
    metadata: { annotations, labels: recommendedLabels(product, role) },
    spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1' } }, storageClassName: GROUP },
  };
}

function shared(product: string, role: string, name: string, className: string, ports: readonly ListenerPort[]): Listener {
  return {
    apiVersion: `${GROUP}/v1alpha1`,
    kind: 'Listener',
    metadata: { name, labels: recommendedLabels(product, role) },
    spec: { className, extraPodSelectorLabels: {}, objectOverrides: [], ports, publishNotReadyAddresses: null },
  };
}

function byClass(name: string, className: string): ProductVolume {
  return { name, annotations: { [`${GROUP}/listener-class`]: className }, kind: 'template' };
}

function byName(name: string, listener: string): ProductVolume {
  return { name, annotations: { [`${GROUP}/listener-name`]: listener }, kind: 'template' };
}

function container(name: string, ports: Readonly<Record<string, number>>): Container {
  return { name, ports: Object.entries(ports).map(([portName, containerPort]) => ({ name: portName, containerPort, protocol: TCP })) };
}
