/** The processes of controllers and routers. */
import { label, LEADER_LABEL } from '../../src/api/skupper/cluster-names.ts';
import { eventually } from '../../test/harness/index.ts';
import { pidOf, type StartedPod } from '../cluster/containers.ts';
import type { Ground } from '../cluster/load.ts';
import type { Running } from '../cluster/processes.ts';

/** The leading one first. Waits until one leads. */
export async function controllers(ground: Ground): Promise<readonly [Running, ...Running[]]> {
  return eventually('a controller of sites to lead', async () => {
    const pods = await podsWhere(ground, '/api/v1/pods', `${label.component}=controller`);
    const [first, ...others] = pods.toSorted((one, other) => Number(leads(other)) - Number(leads(one)));
    if (first === undefined || !leads(first)) return undefined;
    return [runningIn(first, 'controller'), ...others.map((pod) => runningIn(pod, 'controller'))] as const;
  });
}

/** It has Node.js, whose resolver knows the names of a cluster. */
export async function controllerImage(ground: Ground): Promise<string> {
  const [pod] = await podsWhere(ground, '/api/v1/pods', `${label.component}=controller`);
  const image = pod?.spec?.containers[0]?.image;
  if (image === undefined) throw new Error('there is no controller of sites in this cluster');
  return image;
}

export async function routers(ground: Ground, namespace: string): Promise<readonly Running[]> {
  const pods = await podsWhere(ground, `/api/v1/namespaces/${namespace}/pods`, `${label.component}=router`);
  return pods.map((pod) => runningIn(pod, 'router'));
}

/** Control plane and nodes, but for what runs in pods. */
export function kubernetes({ cluster }: Ground): readonly Running[] {
  return cluster.state.processes;
}

/** The cluster without controllers of sites, until it is disposed of. */
export async function withoutControllers({ cluster }: Ground): Promise<AsyncDisposable> {
  const selector = `${label.component}=controller`;
  const where = '{.items[0].metadata.namespace} {.items[0].metadata.name} {.items[0].spec.replicas}';
  const found = await cluster.kubectl(['get', 'deployments', '--all-namespaces', '-l', selector, '-o', `jsonpath=${where}`]);
  const [namespace = '', name = '', replicas = ''] = found.split(' ');
  const scale = async (to: string): Promise<void> => {
    await cluster.kubectl(['--namespace', namespace, 'scale', 'deployment', name, `--replicas=${to}`]);
    const timeout = 120_000;
    if (to === '0') {
      await cluster.kubectl(['--namespace', namespace, 'wait', 'pods', '-l', selector, '--for=delete', '--timeout=120s'], {
        timeoutMs: timeout,
      });
    } else {
      await cluster.kubectl(['--namespace', namespace, 'rollout', 'status', 'deployment', name, '--timeout=120s'], { timeoutMs: timeout });
    }
  };
  await scale('0');
  return { [Symbol.asyncDispose]: () => scale(replicas) };
}

function leads({ metadata }: StartedPod): boolean {
  return metadata.labels?.[LEADER_LABEL] === 'true';
}

function runningIn(pod: StartedPod, container: string): Running {
  return { pid: pidOf(pod, container) };
}

/** Those that are not going. */
async function podsWhere({ cluster }: Ground, path: string, selector: string): Promise<readonly StartedPod[]> {
  const found = await cluster.api.get<{ readonly items: readonly StartedPod[] }>(`${path}?labelSelector=${encodeURIComponent(selector)}`);
  return found.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}
