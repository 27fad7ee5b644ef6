/** Objects for access to sites on a real API server, and the effect of statuses that other controllers write into them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Certificate, SecuredAccess } from '../../src/api/skupper/index.ts';
import { eventually } from '../harness/index.ts';
import { auditFromNow, describeRequest } from './support/audit.ts';
import { answerFromOutside } from './support/clients.ts';
import { pod, webServer, type Manifest } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { collectionOf, collectionOfObject } from './support/paths.ts';
import { SKUPPER, skupper } from './support/sites.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const DEFINITIONS = new URL('support/access-crds.yaml', import.meta.url);
const NAME = 'under-test';
const PORTS = [
  { name: 'inter-router', port: 8080 },
  { name: 'edge', port: 8081, targetPort: 8080 },
];

/** A ConfigMap by which objects of the site get this label and this annotation. */
function template(name: string, value: string, data: object = {}): Manifest {
  const metadata = {
    name,
    labels: { 'skupper.io/label-template': 'true', 'acme.example/team': value },
    annotations: { 'acme.example/note': value },
  };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as Manifest;
}

/** What each type gives is written by hand where its own controller would. */
const byOthers: readonly {
  readonly type: string;
  readonly created: readonly (readonly [apiVersion: string, kind: string, name: string])[];
  readonly told?: readonly [apiVersion: string, kind: string, name: string, status: object];
  /** For `edge`, in the namespace `NS`. */
  readonly endpoints: readonly string[];
}[] = [
  { type: 'local', created: [], endpoints: ['local.NS:8081'] },
  {
    type: 'loadbalancer',
    created: [],
    told: ['v1', 'Service', 'loadbalancer', { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }] } }],
    endpoints: ['192.0.2.1:8081', '2001:db8::1:8081'],
  },
  {
    type: 'route',
    created: [['route.openshift.io/v1', 'Route', 'route-inter-router']],
    told: ['route.openshift.io/v1', 'Route', 'route-edge', { ingress: [{ host: 'edge.example' }] }],
    endpoints: ['edge.example:443'],
  },
  {
    type: 'ingress-nginx',
    created: [],
    told: ['networking.k8s.io/v1', 'Ingress', 'ingress-nginx', { loadBalancer: { ingress: [{ ip: '192.0.2.2' }] } }],
    endpoints: ['edge.NS.192.0.2.2.nip.io:443'],
  },
  {
    type: 'contour-http-proxy',
    created: [['projectcontour.io/v1', 'HTTPProxy', 'contour-http-proxy-inter-router']],
    endpoints: ['contour-http-proxy-edge.NS.proxy.example:443'],
  },
  {
    type: 'gateway',
    created: [['gateway.networking.k8s.io/v1', 'Gateway', 'skupper']],
    told: ['gateway.networking.k8s.io/v1', 'Gateway', 'skupper', { addresses: [{ type: 'IPAddress', value: '192.0.2.3' }] }],
    endpoints: ['gateway-edge.NS.192.0.2.3.nip.io:8443'],
  },
];

describe('a SecuredAccess in a cluster', { timeout: 300_000 }, () => {
  // Before the namespace's own, which lets go of the cluster.
  after(async () => {
    await controller.stop();
    // Later tests have a cluster without them: which kinds are there decides what is usual.
    for (const { apiVersion = '', kind = '', metadata } of definitions) {
      await cluster.api.remove(`${collectionOf(apiVersion, kind, '')}/${metadata.name}`);
      await untilGone(apiVersion, kind, metadata.name ?? '');
    }
  });
  const namespace = useNamespace('access', {
    node: { serviceType: 'NodePort' },
    balancer: { serviceType: 'LoadBalancer' },
    inside: { serviceType: 'ClusterIP' },
  });
  const { cluster } = namespace;
  const [node] = cluster.nodes;
  assert.ok(node);
  let definitions: readonly Manifest[] = [];
  let controller: ReturnType<typeof start>;

  before(async () => {
    definitions = parseAllDocuments(await readFile(DEFINITIONS, 'utf8')).map((document) => document.toJS() as Manifest);
    for (const definition of definitions) await cluster.api.create(collectionOfObject(definition, ''), definition);
    for (const [apiVersion, kind] of byOthers.flatMap(({ created }) => created)) {
      await eventually(`${kind} to be served`, () => cluster.api.find(collectionOf(apiVersion, kind, namespace.name)));
    }
    await namespace.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'skupper' }, data: { controller: NAME } } as Manifest);
    controller = start();
    await eventually('the kinds of sites', () => cluster.api.find(collectionOf(SKUPPER, 'SecuredAccess', namespace.name)));
    await namespace.create(pod('router', { node: node.name, labels: { app: 'router' }, script: webServer(8080) }));
  });
  for (const { type, created, told, endpoints } of byOthers) {
    it(`of type ${type} consists of what the API server accepts, and is reachable at its announced endpoints`, async () => {
      await namespace.create(access(type, type));
      for (const [apiVersion, kind, name] of created) await namespace.until({ apiVersion, kind, name }, 'is there', () => true);
      if (told !== undefined) {
        const [apiVersion, kind, name, status] = told;
        await namespace.until({ apiVersion, kind, name }, 'is there', () => true);
        await cluster.api.patch(`${collectionOf(apiVersion, kind, namespace.name)}/${name}/status`, { status });
      }
      await reachedAt(type, endpointsHere(endpoints));
    });
  }

  it('and all that it is made of has the labels and annotations of templates, as long as these are there', async () => {
    const of = [
      ['route.openshift.io/v1', 'Route', 'route-edge'],
      ['networking.k8s.io/v1', 'Ingress', 'ingress-nginx'],
      ['projectcontour.io/v1', 'HTTPProxy', 'contour-http-proxy-edge'],
      ['gateway.networking.k8s.io/v1', 'TLSRoute', 'gateway-edge'],
      ['v1', 'Service', 'route'],
    ] as const;
    const wear = (wanted: (kind: string) => string | undefined): Promise<unknown> =>
      eventually('labels and annotations of templates', async () => {
        for (const [apiVersion, kind, name] of of) {
          const { labels = {}, annotations = {} } = (await namespace.get(apiVersion, kind, name))?.metadata ?? {};
          assert.deepEqual([kind, labels['acme.example/team'], annotations['acme.example/note']], [kind, wanted(kind), wanted(kind)]);
          // What its own controller selects by stays beside them, and what another client has put there.
          assert.deepEqual([labels['internal.skupper.io/secured-access'], annotations['acme.example/own']], ['true', 'kept']);
        }
        return true;
      });
    for (const [apiVersion, kind, name] of of) {
      await namespace.patch(apiVersion, kind, name, { metadata: { annotations: { 'acme.example/own': 'kept' } } });
    }
    await namespace.create(template('all', 'all'), template('routes', 'route', { kind: 'tlsroute' }));
    await wear((kind) => (kind === 'TLSRoute' ? 'route' : 'all'));
    await namespace.remove('v1', 'ConfigMap', 'routes');
    await wear(() => 'all');
    await namespace.remove('v1', 'ConfigMap', 'all');
    await wear(() => undefined);
    for (const { type, endpoints } of byOthers) await reachedAt(type, endpointsHere(endpoints));
  });

  it('of a ListenerClass is reached wherever the class leads to its pods', async () => {
    for (const suffix of ['node', 'balancer', 'inside'])
      await namespace.create(access(suffix, `listenerclass:${namespace.className(suffix)}`));
    const { spec } = await namespace.untilService(
      'node',
      'has node ports',
      (service) => service.spec?.ports?.every(({ nodePort }) => nodePort) === true,
    );
    assert.deepEqual(spec?.selector, { app: 'router' });
    const nodePort = spec.ports?.find(({ name }) => name === 'edge')?.nodePort ?? 0;
    await reachedAt('node', [`${node.addresses[0]}:${nodePort}`]);
    assert.equal(await answerFromOutside(cluster, node.addresses[0] ?? '', nodePort), 'router');
    await reachedAt('inside', [`inside.${namespace.name}.svc.cluster.local:8081`]);
    await namespace.untilService('balancer', 'is there', () => true);
    const balancer = `${collectionOf('v1', 'Service', namespace.name)}/balancer`;
    await cluster.api.patch(`${balancer}/status`, { status: { loadBalancer: { ingress: [{ hostname: 'balancer.example' }] } } });
    await reachedAt('balancer', ['balancer.example:8081']);
  });

  it('follows the addresses of a node, and its certificate with it', async () => {
    const own = { type: 'InternalIP', address: node.addresses[0] ?? '' } as const;
    // Apart from other clusters' on this machine (TEST-NET-2, RFC 5737).
    const moved = `198.51.100.${cluster.layout.index * 16 + 3}`;
    const { spec } = await namespace.service('node');
    const nodePort = spec?.ports?.find(({ name }) => name === 'edge')?.nodePort ?? 0;
    await namespace.patch(SKUPPER, 'SecuredAccess', 'node', { spec: { issuer: 'some-ca' } });
    await certifiedFor(own.address);
    await cluster.setNodeAddresses(node.name, [own, { type: 'ExternalIP', address: moved }]);
    try {
      await reachedAt('node', [`${moved}:${nodePort}`]);
      await certifiedFor(moved);
    } finally {
      await cluster.setNodeAddresses(node.name, [own, { type: 'Hostname', address: node.name }]);
    }
    await reachedAt('node', [`${own.address}:${nodePort}`]);
    await namespace.patch(SKUPPER, 'SecuredAccess', 'node', { spec: { issuer: null } });
    await untilGone(SKUPPER, 'Certificate', 'node');
    await namespace.until<SecuredAccess>(
      { apiVersion: SKUPPER, kind: 'SecuredAccess', name: 'node' },
      'has a status of what it says now',
      ({ metadata, status }) => status?.conditions?.every(({ observedGeneration }) => observedGeneration === metadata.generation) === true,
    );
  });

  it('that is as it should be is not written by a controller that starts', async () => {
    await controller.stop();
    const requests = await auditFromNow(cluster);
    controller = start();
    await namespace.create(access('later', 'local'));
    await reachedAt('later', [`later.${namespace.name}:8081`]);
    await requests.settle();
    // It marks its own pod when it begins to lead, but it does not run in a pod here.
    const written = requests
      .writes(namespace.name)
      .filter(({ userAgent, objectRef }) => userAgent === 'earshot-site-controller' && objectRef?.resource !== 'pods');
    assert.deepEqual(written.filter(({ objectRef }) => objectRef?.name !== 'later').map(describeRequest), []);
    assert.ok(written.length > 0);
  });

  it('leaves nothing of its former type', async () => {
    await namespace.patch(SKUPPER, 'SecuredAccess', 'route', { spec: { accessType: 'local' } });
    await namespace.patch(SKUPPER, 'SecuredAccess', 'node', { spec: { accessType: 'local' } });
    await reachedAt('route', [`route.${namespace.name}:8081`]);
    await reachedAt('node', [`node.${namespace.name}:8081`]);
    for (const [apiVersion, kind, name] of [
      ['route.openshift.io/v1', 'Route', 'route-edge'],
      ['listeners.stackable.tech/v1alpha1', 'Listener', 'node'],
    ] as const) {
      await untilGone(apiVersion, kind, name);
    }
    await namespace.untilService('node', 'is no node port', (service) => service.spec?.type === 'ClusterIP');
  });

  function access(name: string, accessType: string): Manifest {
    return skupper('SecuredAccess', name, { accessType, selector: { app: 'router' }, ports: PORTS });
  }

  function endpointsHere(endpoints: readonly string[]): readonly string[] {
    return endpoints.map((each) => each.replace('NS', namespace.name));
  }

  /** Waits until this is where its port `edge` is reached. */
  async function reachedAt(name: string, wanted: readonly string[]): Promise<void> {
    await namespace.until<SecuredAccess>(
      { apiVersion: SKUPPER, kind: 'SecuredAccess', name },
      `is reached at ${wanted.join()}`,
      ({ status }) => {
        const ofEdge = status?.endpoints?.filter((endpoint) => endpoint.name === 'edge') ?? [];
        return status?.status === 'Ready' && ofEdge.map(({ host, port }) => `${host}:${port}`).join() === wanted.join();
      },
    );
  }

  function untilGone(apiVersion: string, kind: string, name: string): Promise<true> {
    return eventually(`${kind} ${name} to be gone`, async () => {
      assert.equal(await namespace.get(apiVersion, kind, name), undefined);
      return true;
    });
  }

  async function certifiedFor(host: string): Promise<void> {
    await namespace.until<Certificate>(
      { apiVersion: SKUPPER, kind: 'Certificate', name: 'node' },
      `is for ${host}`,
      ({ spec }) => spec.hosts?.includes(host) === true,
    );
  }

  /** A controller of this namespace alone. */
  function start(): { kill(): void; stop(): Promise<void> } {
    const log = openSync(`${cluster.logs}/site-controller-under-test.log`, 'a');
    const args = [
      'site-controller',
      '--name',
      NAME,
      '--identity',
      NAME,
      '--namespace',
      namespace.name,
      '--watch-namespace',
      namespace.name,
    ];
    const types = ['local', 'loadbalancer', ...byOthers.map(({ type }) => type)].join();
    const flags = ['--enabled-access-types', types, '--http-proxy-domain', 'proxy.example', '--gateway-class', 'some'];
    const own = ['--no-leader-election', '--metrics-address', '127.0.0.1:0', '--kubeconfig', cluster.kubeconfig];
    const child = spawn(process.execPath, [MAIN, ...args, ...flags, ...own], { stdio: ['ignore', log, log] });
    closeSync(log);
    const ended = once(child, 'exit');
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    return {
      kill,
      async stop() {
        kill();
        await ended;
        process.off('exit', kill);
      },
    };
  }
});
