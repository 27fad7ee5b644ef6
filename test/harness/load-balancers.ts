import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { kubeconfigOf } from './credentials.ts';
import { routeVia } from './network.ts';
import { initOf } from './node.ts';
import { endProcesses, startProcess } from './processes.ts';
import { toolFolder } from './tools.ts';
import { eventually } from './wait.ts';

/** One entry of a Service's status.loadBalancer.ingress. */
export interface LoadBalancerIngress {
  readonly ip?: string;
  readonly hostname?: string;
}

export interface ServiceObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly type: string; readonly loadBalancerClass?: string };
}

/**
 * What a cloud would say to a Service: always the same, or worked out for each. An IP, a hostname, both in one entry, two entries; a
 * promise makes it late, one that never settles makes it never.
 */
export type CloudAnswer =
  | readonly LoadBalancerIngress[]
  | ((service: ServiceObject) => readonly LoadBalancerIngress[] | Promise<readonly LoadBalancerIngress[]>);

/** Handle on a load balancer implementation; disposing ends it, and leaves in the Services what it wrote. */
export interface LoadBalancers extends AsyncDisposable {
  stop(): Promise<void>;
}

/** A stand-in for a cloud's controller: answers each Service of type LoadBalancer that `selects` takes, once. */
export function fakeLoadBalancer(
  cluster: Cluster,
  answer: CloudAnswer,
  options: { selects?: (service: ServiceObject) => boolean } = {},
): LoadBalancers {
  const selects = options.selects ?? (() => true);
  const seen = new Set<string>();
  const ended = new AbortController();

  async function serve(service: ServiceObject): Promise<void> {
    const ingress = await Promise.race([typeof answer === 'function' ? answer(service) : answer, aborted(ended.signal)]);
    if (ingress !== undefined)
      await answerService(cluster, service.metadata.namespace, service.metadata.name, ingress).catch(() =>
        seen.delete(service.metadata.uid),
      );
  }

  async function loop(): Promise<void> {
    while (!ended.signal.aborted) {
      const { items } = await cluster.api.get<{ items: readonly ServiceObject[] }>('/api/v1/services').catch(() => ({ items: [] }));
      for (const service of items) {
        if (
          service.spec.type !== 'LoadBalancer' ||
          service.metadata.deletionTimestamp !== undefined ||
          seen.has(service.metadata.uid) ||
          !selects(service)
        )
          continue;
        seen.add(service.metadata.uid);
        void serve(service);
      }
      await sleep(100, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  }

  const running = loop();
  const stop = async (): Promise<void> => {
    ended.abort();
    await running;
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

/** Writes a load balancer's answer into a Service's status, replacing an earlier one. */
export async function answerService(
  cluster: Cluster,
  namespace: string,
  name: string,
  ingress: readonly LoadBalancerIngress[],
): Promise<void> {
  await cluster.api.patch(`/api/v1/namespaces/${namespace}/services/${name}/status`, { status: { loadBalancer: { ingress } } });
}

/**
 * MetalLB's controller with a pool of addresses, delivered to one node by routes, where the service proxy takes them on. Its speaker,
 * which would announce them to a network, has no network here.
 */
export async function startMetalLB(
  cluster: Cluster,
  options: { addresses: readonly string[]; node?: string; loadBalancerClass?: string },
): Promise<LoadBalancers> {
  const folder = await toolFolder('metallb');
  const node = cluster.layout.nodes.find(({ name }) => name === (options.node ?? cluster.layout.nodes[0]?.name));
  if (node === undefined) throw new TypeError(`no node ${options.node}`);
  const resources = (await readdir(`${folder}/crds`)).map((file) => ['--filename', `${folder}/crds/${file}`]);
  await cluster.kubectl(['apply', '--server-side', ...resources.flat()]);
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', 'ipaddresspools.metallb.io']);
  const pool = {
    apiVersion: 'metallb.io/v1beta1',
    kind: 'IPAddressPool',
    metadata: { name: 'pool', namespace: 'metallb-system' },
    spec: { addresses: options.addresses },
  };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'metallb-system' } };
  // Established, and yet it may be a moment until the API server lists and serves them.
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [namespace, pool] });
  await eventually('the pool to be taken', () => cluster.kubectl(['apply', '--filename', '-'], { input }));

  const machine = await eventually('the machine of the node', () =>
    cluster.state.processes.find(({ component, node: at }) => component === 'machine' && at === node.name),
  );
  const controller = await startProcess({
    component: 'metallb-controller',
    // Inside a node, so that its fixed port conflicts with no other.
    node: node.name,
    inside: await initOf(machine, node),
    program: `${folder}/controller`,
    args: [
      `--kubeconfig=${kubeconfigOf(cluster.layout, 'metallb')}`,
      '--namespace=metallb-system',
      '--webhook-mode=disabled',
      '--disable-cert-rotation',
      ...(options.loadBalancerClass === undefined ? [] : [`--lb-class=${options.loadBalancerClass}`]),
    ],
    log: `${cluster.logs}/metallb-controller.log`,
  });
  await cluster.adopt(controller);
  for (const range of options.addresses) await routeVia(cluster.layout, node, range, 'add');
  const stop = async (): Promise<void> => {
    await endProcesses([controller], 2_000);
    for (const range of options.addresses) await routeVia(cluster.layout, node, range, 'remove');
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

function aborted(signal: AbortSignal): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  if (signal.aborted) resolve(undefined);
  else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return promise;
}
