/**
 * A cluster moves from the listener-operator to Earshot and back, as docs/from-listener-operator.md describes, and neither clients nor running
 * pods notice. The listener-operator is a stand-in that writes what that one writes. Takes about two minutes.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Listener, PodListeners } from '../../src/api/listeners/index.ts';
import type { Service } from '../../src/kube/objects.ts';
import { answerService, eventually, startCluster, stopCluster, type Cluster } from '../harness/index.ts';
import { installEarshot, uninstallEarshot } from '../harness/install.ts';
import { claimOf, productRoles, type ProductRole } from '../unit/exposure/product-manifests.ts';
import { auditFromNow, describeRequest } from './support/audit.ts';
import { answerFromOutside } from './support/clients.ts';
import { differences, record, type Recorded } from './support/differences.ts';
import { EarlierSystem } from './support/earlier-system/system.ts';
import { leaderOf, systemPods, untilInstalled, withoutControllers } from './support/installation.ts';
import { API, byClass, container, listenerClass, pod, type Manifest } from './support/manifests.ts';
import { Namespace, openNamespace, type RunningPod } from './support/namespace.ts';
import { collectionOf } from './support/paths.ts';
import { runsAnew, untilCollected } from './support/replicas.ts';

const NAME = 'takeover-test';
const PORT = 9092;
/** What a cloud gave, and what a node gets. */
const BALANCED = '198.51.100.44';
const EXTERNAL = '198.51.100.45';
/** The broker's own Listener, by its class, and the one of them all. */
const OWN = 'listener-broker';
const BOOTSTRAP = 'simple-kafka-broker-default-bootstrap';
const COORDINATOR = 'simple-trino-coordinator';
const LISTENERS = [BOOTSTRAP, COORDINATOR, 'gateway-address', `${OWN}-broker-0`, `${OWN}-broker-1`];

/** All differences after the move, and why they are harmless, above all for moving back. */
const harmless: readonly (readonly [difference: RegExp, why: string])[] = [
  [/^Service \S+ metadata\.labels\.listeners\.stackable\.tech\/listener-name: undefined → /, 'by it Earshot watches its Services'],
  [/^Service \S+ metadata\.annotations\.listeners\.stackable\.tech\/fields: undefined → /, 'what Earshot set, for its own later writes'],
  [/^Listener \S+ status\.(conditions|observedGeneration)\b/, 'optional fields that others leave alone'],
  [/^PodListeners \S+ spec\.(nodeName|mounts)\b/, 'optional fields that others leave alone'],
  [/^PodListeners \S+ spec\.listeners\.\S+\.(volumeHandle|listenerUid): undefined → /, 'optional fields that others leave alone'],
  [/^ListenerClass \S+ spec\.(nodeLossPolicy: undefined → "Keep"|objectOverridesPolicy: undefined → "Any")$/, 'new defaults: as it was'],
  [/^(CSIDriver|StorageClass) \S+ metadata\.(labels|annotations)\./, "Helm's marks of the release that owns them"],
  [/^CustomResourceDefinition \S+ spec\.conversion\b/, 'the webhook is gone with its program, which names it again'],
  [
    /^CustomResourceDefinition \S+ (metadata|spec\.names|spec\.versions|status)\b/,
    'admits all that was admitted; each system writes its own',
  ],
];

describe('a cluster of the listener-operator', { timeout: 580_000 }, () => {
  let cluster: Cluster;
  let earlier: EarlierSystem;
  let namespace: Namespace;
  let asItWas: Recorded;
  let services: Readonly<Record<string, Service>>;

  before(async () => {
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME });
    earlier = new EarlierSystem(cluster);
    await earlier.install();
    namespace = new Namespace(cluster, 'shop');
    await namespace.open();
    await namespace.create(
      listenerClass('balanced', { serviceType: 'LoadBalancer', serviceExternalTrafficPolicy: 'Local' }),
      sharedListener(role('kafka')),
      sharedListener(role('trino')),
      brokers(2),
      pod('gateway', { volumes: { address: byClass('balanced') }, ports: [{ containerPort: PORT }] }),
      coordinator(),
    );
    await eventually('the Service of the gateway', () => namespace.service('gateway-address'));
    await answerService(cluster, 'shop', 'gateway-address', [{ ip: BALANCED }]);
    await namespace.running('broker-0', 'broker-1', 'gateway', 'coordinator');
    await earlier.objects.reconcileAll('shop');
    services = Object.fromEntries(await Promise.all(LISTENERS.map(async (name) => [name, await namespace.service(name)] as const)));
    asItWas = await recorded();

    await earlier.uninstall();
    await installEarshot(cluster, { values: { preset: 'stable-nodes' }, args: ['--take-ownership'] });
  });
  after(async () => {
    await earlier?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const recorded = (): Promise<Recorded> =>
    record(cluster, {
      Service: collectionOf('v1', 'Service', 'shop'),
      Listener: collectionOf(API, 'Listener', 'shop'),
      PodListeners: collectionOf(API, 'PodListeners', 'shop'),
      PersistentVolumeClaim: collectionOf('v1', 'PersistentVolumeClaim', 'shop'),
      Pod: collectionOf('v1', 'Pod', 'shop'),
      PersistentVolume: '/api/v1/persistentvolumes',
      ListenerClass: `/apis/${API}/listenerclasses`,
      CSIDriver: '/apis/storage.k8s.io/v1/csidrivers',
      StorageClass: '/apis/storage.k8s.io/v1/storageclasses',
      CSINode: '/apis/storage.k8s.io/v1/csinodes',
      CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    });
  const scale = (replicas: number): Promise<unknown> => namespace.patch('apps/v1', 'StatefulSet', 'broker', { spec: { replicas } });
  const nodeOf = (pods: readonly RunningPod[]) =>
    cluster.nodes.find(({ name }) => name === pods[0]?.spec.nodeName) ?? assert.fail('the pod is on no node');
  const nodePortOf = ({ spec }: Service): number => spec?.ports?.find(({ name }) => name === 'kafka')?.nodePort ?? 0;
  const serviceOf = (name: string): Service => services[name] ?? assert.fail(`there was no Service ${name}`);
  /** A broker comes back to where it was: its clients find it at the address that they know. */
  const comesBack = async (broker: string): Promise<void> => {
    const pods = await namespace.running(broker);
    const node = nodeOf(pods);
    const nodePort = nodePortOf(await namespace.service(`${OWN}-${broker}`));
    const known = await namespace.get<Listener>(API, 'Listener', `${OWN}-${broker}`);
    await namespace.remove('v1', 'Pod', broker);
    const back = await runsAnew(namespace, pods[0] ?? assert.fail());
    assert.equal(back.spec.nodeName, node.name);
    assert.equal((await namespace.get<Listener>(API, 'Listener', `${OWN}-${broker}`))?.metadata.uid, known?.metadata.uid);
    assert.equal(await namespace.exec(broker, ['cat', `/listeners/${OWN}/default-address/ports/kafka`]), String(nodePort));
    assert.equal(await answerFromOutside(cluster, node.addresses[0] ?? '', nodePort), broker);
  };
  const missedNothing = async (...brokersThere: readonly string[]): Promise<void> => {
    for (const broker of brokersThere) assert.equal(await namespace.exec(broker, ['cat', '/tmp/missed']), '', `${broker} missed files`);
  };

  it('is taken over with nothing changed that anybody could see', async () => {
    for (const name of LISTENERS) await namespace.ready(name);
    for (const name of ['broker-0', 'broker-1', 'gateway', 'coordinator']) {
      const object = { apiVersion: API, kind: 'PodListeners', name: (await namespace.podListeners(name)).metadata.name ?? '' };
      await namespace.until<PodListeners>(object, 'to be adopted', ({ spec }) =>
        Object.values(spec.listeners).every(({ volumeHandle }) => volumeHandle !== undefined),
      );
    }
    const found = differences(asItWas, await recorded());
    assert.deepEqual(
      found.filter((difference) => !harmless.some(([pattern]) => pattern.test(difference))),
      [],
    );
    assert.deepEqual(
      harmless.filter(([pattern]) => !found.some((difference) => pattern.test(difference))),
      [],
      'what is said to differ and does not',
    );
    await missedNothing('broker-0', 'broker-1');
  });

  it('causes no warnings', async () => {
    for (const name of LISTENERS) {
      const warnings = (await namespace.events({ kind: 'Listener', name })).filter(({ type }) => type !== 'Normal');
      assert.deepEqual(
        warnings.map(({ reason, message }) => `${reason}: ${message}`),
        [],
      );
    }
  });

  it('has nothing written any more, even by a restarted controller', async () => {
    const audit = await auditFromNow(cluster);
    {
      await using _paused = await withoutControllers(cluster);
    }
    await using probe = await openNamespace(cluster, 'settled');
    await probe.exposed('probe', { serviceType: 'ClusterIP' });
    await probe.ready('probe');
    await audit.settle();
    const isOfMove = ({ objectRef }: { readonly objectRef?: { readonly namespace?: string; readonly resource?: string } }): boolean =>
      objectRef?.namespace === 'shop' || ['persistentvolumes', 'listenerclasses'].includes(objectRef?.resource ?? '');
    assert.deepEqual(audit.changes().filter(isOfMove).map(describeRequest), []);
  });

  it('has its running pods receive a new address, in the folder that they have open', async () => {
    const node = nodeOf(await namespace.running('broker-0'));
    const internal = { type: 'InternalIP', address: node.addresses[0] ?? '' } as const;
    await cluster.setNodeAddresses(node.name, [internal, { type: 'ExternalIP', address: EXTERNAL }]);
    await namespace.untilFile('broker-0', OWN, 'default-address/address', EXTERNAL);
    assert.equal(await answerFromOutside(cluster, EXTERNAL, nodePortOf(serviceOf(`${OWN}-broker-0`))), 'broker-0');
    await cluster.setNodeAddresses(node.name, [internal]);
    await namespace.untilFile('broker-0', OWN, 'default-address/address', internal.address);
    await missedNothing('broker-0', 'broker-1');
  });

  it('has pods come back to their addresses, and new ones get theirs', async () => {
    await comesBack('broker-0');
    await scale(3);
    const node = nodeOf(await namespace.running('broker-2'));
    const nodePort = nodePortOf(await namespace.service(`${OWN}-broker-2`));
    assert.equal(await answerFromOutside(cluster, node.addresses[0] ?? '', nodePort), 'broker-2');
  });

  it('has volumes of the time before removed with their claims', async () => {
    const { metadata } = await namespace.volumeOf('gateway-address');
    await namespace.remove('v1', 'Pod', 'gateway');
    await untilCollected(cluster, 'shop', { named: ['gateway-address', metadata.name ?? ''] });
  });

  it('has an address given up with its node, once its class says so', async () => {
    const leading = await leaderOf(cluster);
    const leader = (await systemPods(cluster, 'controller')).find(({ metadata }) => metadata.name === leading);
    const brokersThere = await namespace.running('broker-0', 'broker-1', 'broker-2');
    const former = brokersThere.find(({ spec }) => spec.nodeName !== leader?.spec.nodeName) ?? assert.fail('all are beside the leader');
    const { name: broker = '' } = former.metadata;
    const { nodeName } = former.spec;
    await namespace.patch(API, 'ListenerClass', 'external-stable', { spec: { nodeLossPolicy: 'Release' } });
    await cluster.deleteNode(nodeName);
    // Kubernetes' own collector of such pods comes round only after a minute.
    const ofNode = ['pods', '--all-namespaces', `--field-selector=spec.nodeName=${nodeName}`];
    await cluster.kubectl(['delete', ...ofNode, '--force', '--grace-period=0', '--wait=false']);
    const now = await runsAnew(namespace, former);
    assert.notEqual(now.spec.nodeName, nodeName);
    await cluster.addNode(nodeName);
    await untilInstalled(cluster);
    await namespace.running('broker-0', 'broker-1', 'broker-2');
    const nodePort = nodePortOf(await namespace.service(`${OWN}-${broker}`));
    assert.equal(await answerFromOutside(cluster, nodeOf([now]).addresses[0] ?? '', nodePort), broker);
  });

  describe('that goes back', () => {
    before(async () => {
      await uninstallEarshot(cluster);
      await earlier.install();
      await earlier.objects.reconcileAll('shop');
    });

    it('keeps its Services, and its pods their files', async () => {
      for (const name of [BOOTSTRAP, COORDINATOR]) {
        const { metadata, spec } = await namespace.service(name);
        assert.deepEqual({ uid: metadata.uid, spec }, { uid: serviceOf(name).metadata.uid, spec: serviceOf(name).spec });
      }
      const brokersThere = await namespace.running('broker-0', 'broker-1', 'broker-2');
      for (const { metadata } of brokersThere) {
        const { name = '' } = metadata;
        const told = await namespace.exec(name, ['cat', `/listeners/${OWN}/default-address/ports/kafka`]);
        assert.equal(told, String(nodePortOf(await namespace.service(`${OWN}-${name}`))));
      }
    });

    it('has pods come back to their addresses, and new ones get theirs', async () => {
      await comesBack('broker-0');
      await scale(4);
      await namespace.running('broker-3');
    });

    it('has volumes that Earshot made removed with their claims', async () => {
      const { metadata } = await namespace.volumeOf(`${OWN}-broker-2`);
      await scale(2);
      await eventually('the replica to be gone', async () => (await namespace.get('v1', 'Pod', 'broker-2')) === undefined);
      await namespace.remove('v1', 'PersistentVolumeClaim', `${OWN}-broker-2`);
      await untilCollected(cluster, 'shop', { named: [`${OWN}-broker-2`, metadata.name ?? ''] });
    });
  });
});

function role(product: string): ProductRole {
  const found = productRoles.find((each) => each.product === product);
  if (found === undefined) throw new TypeError(`there is no ${product}`);
  return found;
}

function sharedListener({ listener }: ProductRole): Listener {
  if (listener === undefined) throw new TypeError('the role has no Listener of its own');
  return listener;
}

/** Answers with its name, and writes down each moment at which a file of its address is not there. */
const BROKER = `
mkdir -p /tmp/www; hostname > /tmp/www/index.html; : > /tmp/missed
httpd -p ${PORT} -h /tmp/www
cd /listeners/${OWN}
while :; do
  [ -s default-address/address ] && [ -s default-address/ports/kafka ] || date >> /tmp/missed
  sleep 0.02
done`;

function brokers(replicas: number): Manifest {
  const { volumes, containers, ...rest } = role('kafka');
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/listeners/${name}` }));
  const labels = { app: 'broker' };
  const main = container('kafka', { script: BROKER, container: { ports: containers[0]?.ports, volumeMounts } });
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'broker' },
    spec: {
      replicas,
      serviceName: 'broker',
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [main] } },
      volumeClaimTemplates: volumes.map((volume) => {
        const { metadata, spec } = claimOf({ volumes, containers, ...rest }, volume);
        return { metadata: { ...metadata, name: volume.name }, spec };
      }),
    },
  };
}

function coordinator(): Manifest {
  const [volume] = role('trino').volumes;
  const options = { volumes: { listener: volume?.annotations ?? {} }, ports: role('trino').containers[0]?.ports ?? [] };
  return pod('coordinator', options);
}
