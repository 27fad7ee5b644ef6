/** The examples, applied as they are, do what their comments say. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { listeners, type Listener, type ListenerClass } from '../../src/api/listeners/index.ts';
import { apiVersionOf } from '../../src/kube/resource.ts';
import { loadExampleImages } from '../harness/example-images.ts';
import { parseTranscript } from '../../scripts/demo/redis.ts';
import { slotOf } from '../../scripts/demo/slots.ts';
import { connectCluster, eventually, type Cluster } from '../harness/index.ts';
import { toolFolder } from '../harness/tools.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));
// A name of its own for each run: what the Redis example keeps on a node belongs to a namespace.
const NAMESPACE = `examples-${Date.now().toString(36)}`;

interface ServiceObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly type: string;
    readonly clusterIP: string;
    readonly allocateLoadBalancerNodePorts?: boolean;
    readonly externalTrafficPolicy?: string;
    readonly sessionAffinity: string;
    readonly sessionAffinityConfig?: unknown;
    readonly ipFamilyPolicy?: string;
  };
}

describe('the examples', { timeout: 580_000 }, () => {
  let cluster: Cluster;
  let binaries: string;

  /** Runs a command as the examples' readers would type it, in the namespace of this test. */
  const type = (command: string): Promise<string> =>
    cluster.outside(['sh', '-ec', command], {
      env: { KUBECONFIG: `${cluster.layout.dir}/${NAMESPACE}.kubeconfig`, PATH: `${binaries}:${process.env['PATH'] ?? ''}` },
    });
  const apply = (path: string): Promise<string> => type(`kubectl apply -f ${EXAMPLES}/${path}`);
  const fetchPage = (place: string): Promise<string> => cluster.outside(['curl', '-sSf', '--max-time', '3', `http://${place}/`]);
  const listenersOf = async (selector: string): Promise<readonly Listener[]> =>
    (JSON.parse(await type(`kubectl get listeners --selector '${selector}' --output json`)) as { items: readonly Listener[] }).items;
  const addressesOfNodes = async (): Promise<readonly (readonly string[])[]> =>
    (await cluster.api.get<{ items: readonly { status: { addresses: readonly { address: string }[] } }[] }>('/api/v1/nodes')).items.map(
      ({ status }) => status.addresses.map(({ address }) => address),
    );

  before(async () => {
    cluster = connectCluster();
    binaries = await toolFolder('kubernetes');
    await loadExampleImages(cluster);
    await cluster.kubectl(['create', 'namespace', NAMESPACE]);
    await type(`umask 077; kubectl --kubeconfig ${cluster.kubeconfig} config view --raw --minify > "$KUBECONFIG"
      kubectl config set-context --current --namespace ${NAMESPACE}`);
  });
  after(async () => {
    await type(`kubectl delete -f ${EXAMPLES}/listenerclasses.yaml -f ${EXAMPLES}/redis-cluster/ --ignore-not-found --wait=false
      kubectl delete namespace ${NAMESPACE} --wait=false
      rm "$KUBECONFIG"`);
    await cluster[Symbol.asyncDispose]();
  });

  it('web-nodeport: each pod answers at an address of its own, and knows it', async () => {
    await apply('web-nodeport.yaml');
    await type('kubectl rollout status deployment/web --timeout=110s');
    const found = await eventually('two Listeners with an address', async () => {
      const items = (await listenersOf('app=web')).map((listener) => placeOf(listener)).filter((place) => place !== undefined);
      return items.length === 2 && items;
    });
    const pods = new Set<string>();
    for (const place of found) {
      const page = await eventually(`a page at ${place}`, () => fetchPage(place));
      const [, pod, told] = /^This is (web-\S+), reached at (\S+)\.$/.exec(page.trim()) ?? [];
      assert.equal(told, place);
      pods.add(pod ?? '');
    }
    assert.equal(pods.size, 2);
  });

  it('shared-listener: one port at which every replica answers, handing out its own node', async () => {
    await apply('shared-listener.yaml');
    await type('kubectl rollout status deployment/shop --timeout=110s');
    const nodes = await addressesOfNodes();
    const listener = await eventually('both nodes in the status of the Listener', async () => {
      const read = JSON.parse(await type('kubectl get listener shop --output json')) as Listener;
      return nodes.every((addresses) => read.status?.ingressAddresses?.some(({ address }) => addresses.includes(address))) && read;
    });
    const ports = new Set(listener.status?.ingressAddresses?.map((ingress) => ingress.ports['http']));
    assert.equal(ports.size, 1);
    const pages = new Set<string>();
    await eventually('all three replicas to answer', async () => {
      pages.add(await fetchPage(placeOf(listener) ?? ''));
      return pages.size === 3;
    });
    for (const page of pages) {
      const [, address, port] = /hands out (\S+):(\d+)\.$/.exec(page.trim()) ?? [];
      assert.ok(nodes.flat().includes(address ?? ''), page);
      assert.ok(ports.has(Number(port)), page);
    }
  });

  it('kafka-style: the bootstrap address leads to a broker, and each broker to itself', async () => {
    await apply('kafka-style.yaml');
    await type('kubectl rollout status statefulset/broker --timeout=110s');
    const found = await eventually('three Listeners with an address', async () => {
      const items = (await listenersOf('app=broker')).filter((listener) => placeOf(listener) !== undefined);
      return items.length === 3 && items;
    });
    const bootstrap = found.find(({ metadata }) => metadata.name === 'bootstrap');
    assert.ok(bootstrap);
    assert.match(await eventually('the bootstrap address to answer', () => fetchPage(placeOf(bootstrap) ?? '')), /^broker=broker-[01]$/m);
    for (const broker of ['broker-0', 'broker-1']) {
      const announced = await eventually(`${broker} to print its addresses`, async () => {
        const said = await type(`kubectl logs ${broker}`);
        return said.includes('advertised.listeners=') && said.endsWith('\n') && said;
      });
      const [, place = ''] = /^advertised\.listeners=CLIENT:\/\/(\S+)$/m.exec(announced) ?? [];
      assert.ok(
        found.some((listener) => placeOf(listener) === place && listener.metadata.name !== 'bootstrap'),
        announced,
      );
      assert.equal(await eventually(`${broker} to answer at ${place}`, () => fetchPage(place)), announced);
      const [, common] = /^bootstrap\.servers=\S+:(\d+)$/m.exec(announced) ?? [];
      assert.equal(Number(common), bootstrap.status?.nodePorts?.['kafka']);
    }
  });

  it('listenerclasses: each class makes the Service that its comment describes', async () => {
    await apply('listenerclasses.yaml');
    const classes = ['inside', 'internal-load-balancer', 'client-addresses', 'pinned', 'overrides'];
    const manifests = classes.map((name) => ({
      apiVersion: apiVersionOf(listeners),
      kind: listeners.kind,
      metadata: { name },
      spec: { className: `example-${name}`, ports: [{ name: 'http', port: 8080 }] },
    }));
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
    await cluster.kubectl(['apply', '--namespace', NAMESPACE, '--filename', '-'], { input });
    const service = (name: string): Promise<ServiceObject> =>
      eventually(`Service ${name}`, () => cluster.api.find<ServiceObject>(`/api/v1/namespaces/${NAMESPACE}/services/${name}`));

    const inside = await service('inside');
    assert.equal(inside.spec.type, 'ClusterIP');
    const [read] = await eventually('an address inside', async () => {
      const items = (await listenersOf('')).filter(({ metadata }) => metadata.name === 'inside');
      return items[0]?.status?.ingressAddresses?.length === 1 && items;
    });
    assert.equal(read?.status?.ingressAddresses?.[0]?.address, inside.spec.clusterIP);

    const balancer = await service('internal-load-balancer');
    assert.equal(balancer.spec.type, 'LoadBalancer');
    assert.equal(balancer.spec.allocateLoadBalancerNodePorts, false);
    assert.equal(balancer.metadata.annotations?.['service.beta.kubernetes.io/aws-load-balancer-scheme'], 'internal');
    assert.equal(balancer.metadata.annotations['service.beta.kubernetes.io/azure-load-balancer-internal'], 'true');
    assert.equal(balancer.metadata.annotations['networking.gke.io/load-balancer-type'], 'Internal');

    const local = await service('client-addresses');
    assert.equal(local.spec.type, 'NodePort');
    assert.equal(local.spec.externalTrafficPolicy, 'Local');

    assert.equal((await service('pinned')).spec.type, 'NodePort');
    const pinned = JSON.parse(await type('kubectl get listenerclass example-pinned --output json')) as ListenerClass;
    assert.equal(pinned.spec.pinnedNodePorts, true);
    assert.equal(pinned.spec.nodeLossPolicy, 'Release');

    const overridden = await service('overrides');
    assert.equal(overridden.spec.sessionAffinity, 'ClientIP');
    assert.deepEqual(overridden.spec.sessionAffinityConfig, { clientIP: { timeoutSeconds: 600 } });
    assert.equal(overridden.spec.ipFamilyPolicy, 'PreferDualStack');
  });

  it('kubernetes: the Site gets ready, its Connector selects the pods, and the Service is there', async () => {
    const shop = `${NAMESPACE}-shop`;
    await type(`kubectl create namespace ${shop}; kubectl -n ${shop} apply -f ${EXAMPLES}/kubernetes/shop.yaml`);
    try {
      await type(`kubectl -n ${shop} wait site/shop --for=condition=Ready --timeout=60s`);
      await eventually('both pods in the status of the Connector', async () => {
        const pods = await type(`kubectl -n ${shop} get connectors.skupper.io web -o jsonpath='{.status.selectedPods[*].name}'`);
        return pods.split(' ').filter((name) => name.startsWith('web-')).length === 2;
      });
      assert.equal(await type(`kubectl -n ${shop} get service cache -o jsonpath='{.spec.ports[*].port}'`), '6379');
      const endpoint = await type(`kubectl -n ${shop} get site shop -o jsonpath='{.status.endpoints[0].host}'`);
      assert.ok((await addressesOfNodes()).flat().includes(endpoint), endpoint);
    } finally {
      await type(`kubectl delete namespace ${shop} --wait=false`);
    }
  });

  it('redis-cluster: the commands of its README make a cluster that a client outside writes to and reads', async () => {
    const readme = await readFile(`${EXAMPLES}/redis-cluster/README.md`, 'utf8');
    const [install, join] = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
    assert.ok(install !== undefined && join !== undefined);
    await type(`cd ${EXAMPLES}/..; ${install}`);
    assert.match(await type(join), /\[OK\] All 16384 slots covered\./);

    const servers = (await listenersOf('app=redis')).map((listener) => placeOf(listener, 'redis') ?? '');
    assert.equal(new Set(servers).size, 6);
    const cli = (place: string | undefined, options: string): string => `redis-cli ${place?.replace(/(.*):/, '-h $1 -p ')} ${options}`;
    const keys = Array.from({ length: 60 }, (_, index) => `key-${index}`);
    // Each discovers it by itself, some seconds after the last of them was notified.
    for (const server of servers)
      await eventually(`${server} to see the cluster whole`, () => type(`${cli(server, 'cluster info')} | grep cluster_state:ok`));
    await type(`printf '${keys.map((key) => String.raw`set ${key} ${key}\n`).join('')}' | ${cli(servers[0], '-c')}`);
    const read = await type(`printf '${keys.map((key) => String.raw`get ${key}\n`).join('')}' | ${cli(servers[5], '-c')}`);
    const { answers } = parseTranscript(read, servers[5] ?? '');
    assert.deepEqual(
      answers.map(({ reply }) => reply),
      keys,
    );
    assert.equal(new Set(answers.map(({ server }) => server)).size, 3, 'three masters answered');
    assert.ok(
      answers.every(({ server }) => servers.includes(server)),
      'each at the address of its Listener',
    );
    const slots = await type(`printf '${keys.map((key) => String.raw`cluster keyslot ${key}\n`).join('')}' | ${cli(servers[0], '')}`);
    assert.deepEqual(slots.trim().split('\n').map(Number), keys.map(slotOf), 'the demo and Redis agree on which slot a key has');
  });
});

/** ADDRESS:PORT of a Listener's first address and port. */
function placeOf(listener: Listener, port?: string): string | undefined {
  const [ingress] = listener.status?.ingressAddresses ?? [];
  const [first] = Object.keys(ingress?.ports ?? {});
  const number = ingress?.ports[port ?? first ?? ''];
  return ingress === undefined || number === undefined ? undefined : `${ingress.address}:${number}`;
}
