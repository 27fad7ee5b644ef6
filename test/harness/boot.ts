import { mkdir, writeFile } from 'node:fs/promises';
import { connect, type ApiRequests } from './api-requests.ts';
import { startApiServer, startControllerManager, startEtcd, startScheduler } from './control-plane.ts';
import { createCredentials, HARNESS, type Credentials } from './credentials.ts';
import { hostsFileOf, startDns } from './dns.ts';
import { importImage, writeBusyboxImage, writeSandboxImage } from './images.ts';
import type { ClusterLayout, NodeLayout } from './layout.ts';
import { startMachine } from './machine.ts';
import { createNetwork, createNodeNetwork } from './network.ts';
import { initOf, startContainerd, startKubelet, startKubeProxy } from './node.ts';
import { admitNode, type NodeObject } from './node-object.ts';
import type { ProcessRecord } from './processes.ts';
import { toolFolder } from './tools.ts';
import { eventually } from './wait.ts';

export interface Booted {
  readonly api: ApiRequests;
  readonly credentials: Credentials;
}

/**
 * From nothing to Ready nodes. Every process is reported to `started` the moment it runs, so that a failure anywhere leaves
 * no process unaccounted for. Independent parts start in parallel: most of a boot is the API server's.
 */
export async function boot(
  layout: ClusterLayout,
  options: { dns: boolean },
  started: (record: ProcessRecord) => void,
  log: (line: string) => void,
): Promise<Booted> {
  const [etcd, kubernetes, coredns] = [
    await toolFolder('etcd', log),
    await toolFolder('kubernetes', log),
    options.dns ? await toolFolder('coredns', log) : '',
  ];
  for (const folder of [layout.dir, layout.logs, `${layout.dir}/credentials`, ...layout.nodes.map((node) => node.dir)])
    await mkdir(folder, { recursive: true });
  await writeFile(hostsFileOf(layout), '');
  const note = async (starting: Promise<ProcessRecord>): Promise<ProcessRecord> => {
    const record = await starting;
    started(record);
    return record;
  };

  await createNetwork(layout);
  const machines = readyMachines(layout, note);
  // A failure here is thrown where the machines are awaited; until then it has no handler.
  machines.catch(() => undefined);

  const credentials = await createCredentials(layout);
  const api = connect({ url: layout.apiUrl, ca: credentials.ca, token: credentials.tokens[HARNESS] ?? '' });
  try {
    await note(startEtcd(layout, etcd));
    log('etcd answers');
    await note(startApiServer(layout, kubernetes, api));
    log(`kube-apiserver answers at ${layout.apiUrl}`);
    await allEnded([note(startControllerManager(layout, kubernetes)), note(startScheduler(layout, kubernetes))]);
    const inits = await machines;
    await grantNodeProxy(api);
    await allEnded([
      ...layout.nodes.flatMap((node, n): readonly Promise<unknown>[] => {
        const init = inits[n] ?? 0;
        return [joinNode(layout, node, init, kubernetes, api, note, log), note(startKubeProxy(layout, node, init, kubernetes))];
      }),
      ...(options.dns ? [note(startDns(layout, coredns, api)).then(() => log(`CoreDNS answers at ${layout.dnsAddress}`))] : []),
      defaultServiceAccount(api),
    ]);
    return { api, credentials };
  } catch (error) {
    await machines.catch(() => undefined);
    await api.close();
    throw error;
  }
}

/** As Promise.all, but it fails only once all have ended: who takes the cluster down then must not meet what is still being made. */
async function allEnded<T>(parts: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(parts);
  return Promise.all(parts);
}

/** Machines with containerd and the images that every pod needs; returns the pids of their inits. */
async function readyMachines(
  layout: ClusterLayout,
  note: (starting: Promise<ProcessRecord>) => Promise<ProcessRecord>,
): Promise<readonly number[]> {
  const images = [`${layout.dir}/pause.tar`, `${layout.dir}/busybox.tar`] as const;
  const written = allEnded([writeSandboxImage(images[0]), writeBusyboxImage(images[1])]);
  const machines = layout.nodes.map(async (node) => {
    await createNodeNetwork(layout, node);
    const init = await initOf(await note(startMachine(layout, node)), node);
    await note(startContainerd(layout, node, init));
    await written;
    for (const image of images) await importImage(image, [node]);
    return init;
  });
  await Promise.allSettled([written, ...machines]);
  return Promise.all(machines);
}

async function joinNode(
  layout: ClusterLayout,
  node: NodeLayout,
  init: number,
  binaries: string,
  api: ApiRequests,
  note: (starting: Promise<ProcessRecord>) => Promise<ProcessRecord>,
  log: (line: string) => void,
): Promise<void> {
  const since = new Date();
  const kubelet = await note(startKubelet(layout, node, init, binaries));
  await admitNode(api, node, kubelet, { since });
  log(`${node.name} is Ready`);
}

/** The bootstrap policy binds this role to a user; our kube-proxy is that user, but reads Nodes' pod ranges as well. */
async function grantNodeProxy(api: ApiRequests): Promise<void> {
  await eventually('the bootstrap roles', () => api.find('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:node-proxier'));
}

/** Pods are refused until the controller manager has made the namespace's default service account. */
async function defaultServiceAccount(api: ApiRequests): Promise<void> {
  await eventually('the default service account', () => api.find<NodeObject>('/api/v1/namespaces/default/serviceaccounts/default'), {
    everyMs: 50,
  });
}
