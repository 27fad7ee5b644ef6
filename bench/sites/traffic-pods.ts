/** Two ways from a client's pod to a server's: a link between two sites, and a pair of HAProxy pods with mutual TLS between them. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { label } from '../../src/api/skupper/cluster-names.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { configMaps, pods, resource, secrets, services } from '../../src/kube/resource.ts';
import { eventually } from '../../test/harness/index.ts';
import { container, podSpec } from '../../test/e2e/support/manifests.ts';
import { createAuthority, issue } from '../../test/net/harness/certificates.ts';
import type { Ground } from '../cluster/load.ts';
import type { Running } from '../cluster/processes.ts';
import { haproxyConfiguration, type End, type Route, type Routes } from '../connection/systems/haproxy.ts';
import { create, expectCondition, openPair, type Pair } from './places.ts';
import { pidOf, type StartedPod } from '../cluster/containers.ts';

export const SYSTEMS = ['haproxy', 'earshot', 'direct'] as const;
export type System = (typeof SYSTEMS)[number];

/** The servers' own, and their Listeners'. */
export const PORTS = { iperf3: 5201, http: 8000 } as const;
/** Between the two HAProxies. */
const LINK_OFFSET = 1_000;
const SERVER = 'server';
export const CLIENT = 'client';

export interface Ways extends Pair {
  /** The host at which a client in the west finds a service by each way. */
  readonly hosts: Readonly<Record<System, Readonly<Record<keyof typeof PORTS, string>>>>;
}

export async function openWays(ground: Ground): Promise<Ways> {
  const image = await ground.cluster.loadDebianImage({
    name: 'traffic',
    packages: ['haproxy', 'iperf3', 'nginx', 'wrk'],
    programs: ['/usr/sbin/haproxy', '/usr/bin/iperf3', '/usr/sbin/nginx', '/usr/bin/wrk'],
    command: ['sleep', '2147483647'],
  });
  const pair = await openPair(ground, 'traffic');
  const { west, east } = pair;
  const [near, far] = [await nodeOfRouter(ground, west), await nodeOfRouter(ground, east)];
  await put(ground, configMaps, east, SERVER, { data: { 'nginx.conf': NGINX } });
  await run(ground, east, SERVER, far, [
    container('iperf3', { image, command: ['iperf3', '-s', '-p', String(PORTS.iperf3)] }),
    container('nginx', { image, command: ['nginx', '-c', '/config/nginx.conf', '-e', 'stderr', '-g', 'daemon off;'], container: CONFIG }),
  ]);
  await startHaproxies(ground, pair, image, [near, far]);
  await run(ground, west, CLIENT, near, [container('main', { image })]);
  await using ready = await expectCondition(ground, west, 'Listener', 2);
  for (const [name, port] of Object.entries(PORTS)) {
    await create(ground, east, 'Connector', name, { selector: `app=${SERVER}`, port, routingKey: name });
    await create(ground, west, 'Listener', name, { host: name, port, routingKey: name });
  }
  await ready.reached;
  const [direct, haproxy] = [`${SERVER}.${east}`, 'haproxy'];
  return {
    ...pair,
    hosts: {
      direct: { iperf3: direct, http: direct },
      haproxy: { iperf3: haproxy, http: haproxy },
      earshot: { iperf3: 'iperf3', http: 'http' },
    },
  };
}

/** Both ends of a way. */
export async function endsOf({ cluster }: Ground, { west, east }: Pair, system: System): Promise<readonly Running[]> {
  if (system === 'direct') return [];
  const selector = system === 'haproxy' ? 'app=haproxy' : `${label.component}=router`;
  const ends: Running[] = [];
  for (const namespace of [west, east]) {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`;
    const { items } = await cluster.api.get<{ readonly items: readonly StartedPod[] }>(path);
    for (const pod of items) ends.push({ pid: pidOf(pod, system === 'haproxy' ? 'main' : 'router') });
  }
  return ends;
}

async function startHaproxies(ground: Ground, { west, east }: Pair, image: string, [near, far]: readonly [string, string]): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-haproxy-'));
  try {
    const authority = await createAuthority(dir);
    const routes = (each: (port: number) => Route): Routes =>
      Object.fromEntries(Object.entries(PORTS).map(([name, port]) => [name, each(port)]));
    const ends: Readonly<Record<End, Routes>> = {
      client: routes((port) => ({ from: `*:${port}`, to: `haproxy.${east}:${port + LINK_OFFSET}` })),
      server: routes((port) => ({ from: `*:${port + LINK_OFFSET}`, to: `${SERVER}.${east}:${port}` })),
    };
    const start = async (end: End, namespace: string, node: string): Promise<void> => {
      const { cert, key, ca } = await issue(authority, `haproxy-${end}`);
      const data = {
        cfg: await haproxyConfiguration(end, { crt: '/config/pem', ca: '/config/ca' }, ends[end]),
        pem: `${await readFile(cert, 'utf8')}${await readFile(key, 'utf8')}`,
        ca: await readFile(ca, 'utf8'),
      };
      await put(ground, secrets, namespace, 'haproxy', { type: 'Opaque', stringData: data });
      await run(
        ground,
        namespace,
        'haproxy',
        node,
        [container('main', { image, command: ['haproxy', '-db', '-q', '-f', '/config/cfg'], container: CONFIG })],
        { secret: { secretName: 'haproxy' } },
        LINK_OFFSET,
      );
    };
    await start('server', east, far);
    await start('client', west, near);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const CONFIG = { volumeMounts: [{ name: 'config', mountPath: '/config' }] };

/** A pod and a Service of one name, with what it finds at /config. */
async function run(
  ground: Ground,
  namespace: string,
  name: string,
  node: string,
  containers: readonly object[],
  config: object = { configMap: { name, optional: true } },
  linkOffset = 0,
): Promise<void> {
  const { client } = ground;
  const spec = { ...podSpec({ node }), containers, volumes: [{ name: 'config', ...config }] };
  await put(ground, resource<KubeObject>('v1', 'Pod', 'pods'), namespace, name, { spec }, { app: name });
  const ports = Object.entries(PORTS).flatMap(([of, port]) => [
    { name: of, port },
    ...(linkOffset === 0 ? [] : [{ name: `${of}-link`, port: port + linkOffset }]),
  ]);
  await put(ground, services, namespace, name, { spec: { selector: { app: name }, ports } });
  const isRunning = async (): Promise<boolean> => {
    const { status } = await client.get(pods, { namespace, name });
    return status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') === true;
  };
  await eventually(`pod ${name} to run`, isRunning, { timeoutMs: 120_000 });
}

async function put<T extends KubeObject>(
  { client }: Ground,
  of: ReturnType<typeof resource<T>>,
  namespace: string,
  name: string,
  content: object,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await client.create(of, { metadata: { namespace, name, labels }, ...content } as unknown as T);
}

async function nodeOfRouter({ cluster }: Ground, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(`${label.component}=router`)}`;
  const { items } = await cluster.api.get<{ readonly items: readonly { readonly spec: { readonly nodeName?: string } }[] }>(path);
  const node = items[0]?.spec.nodeName;
  if (node === undefined) throw new Error(`the router of ${namespace} runs nowhere`);
  return node;
}

const NGINX = `
user nobody nogroup;
worker_processes 1;
pid /tmp/nginx.pid;
error_log stderr warn;
events { worker_connections 15000; }
http {
  access_log off;
  default_type application/octet-stream;
  keepalive_requests 1000000000;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  server {
    listen 0.0.0.0:${PORTS.http} reuseport backlog=4096;
    location = / { return 200 'hello from the east\\n'; }
  }
}
`;
