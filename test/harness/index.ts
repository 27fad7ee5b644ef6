/**
 * A real Kubernetes in one call: etcd, API server, controller manager, scheduler and DNS as processes on this machine, and nodes
 * with containerd, kubelet and kube-proxy in namespaces of their own. The host is outside the cluster.
 *
 *   await using cluster = await startCluster({ name: 'mine' });
 *   await cluster.kubectl(['get', 'nodes']);
 */
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { boot } from './boot.ts';
import { claimIndex } from './claim.ts';
import { Cluster } from './cluster.ts';
import { auditLogOf } from './control-plane.ts';
import { ADMIN, HARNESS, kubeconfigOf } from './credentials.ts';
import { HarnessError } from './failures.ts';
import { CLUSTERS, families, layOut, MOST_NODES, type ClusterLayout } from './layout.ts';
import { startTimeOf } from './proc.ts';
import { isRunning, signal, type ProcessRecord } from './processes.ts';
import { CHECKOUT_STATE, readState, stateFileOf, writeState, type ClusterState } from './state.ts';
import { tearDown } from './teardown.ts';
import { assertPossibleHere, KUBERNETES } from './tools.ts';

export { Cluster } from './cluster.ts';
export { HarnessError } from './failures.ts';
export { BUSYBOX_IMAGE, writeImage, type ImageContents } from './images.ts';
export type { DebianImage } from './debian.ts';
export {
  answerService,
  fakeLoadBalancer,
  startMetalLB,
  type CloudAnswer,
  type LoadBalancerIngress,
  type LoadBalancers,
} from './load-balancers.ts';
export type { NodeAddress } from './node-object.ts';
export type { ClusterState } from './state.ts';
export { eventually } from './wait.ts';

export interface ClusterOptions {
  /** Distinguishes clusters that run at the same time; `earshot` by default. At most 20 letters, digits and dashes. */
  readonly name?: string;
  /** 2 by default, 8 at most. */
  readonly nodes?: number;
  /** IPv6 beside IPv4 for nodes, pods and Services. */
  readonly dualStack?: boolean;
  /** Of Services' names; `cluster.local` by default. */
  readonly domain?: string;
  /** CoreDNS; on by default. */
  readonly dns?: boolean;
  /** Hears of progress. */
  readonly log?: (line: string) => void;
  /** Leave it running when this process ends; then only `stop()` or stopCluster ends it. */
  readonly detached?: boolean;
}

/** Boots a cluster of this name, after removing what a crashed one of the same name left. Refuses while one runs. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { name = 'earshot', nodes = 2, dualStack = false, domain, dns = true, log = () => undefined, detached = false } = options;
  if (!/^[a-z]([-a-z0-9]{0,18}[a-z0-9])?$/.test(name))
    throw new TypeError(`cluster name ${JSON.stringify(name)}: 1 to 20 lower-case letters, digits and dashes, beginning with a letter`);
  if (nodes < 1 || nodes > MOST_NODES) throw new TypeError(`${nodes} nodes: 1 to ${MOST_NODES} are possible`);
  assertPossibleHere();
  await removeLeftovers(name, log);

  const index = await claimIndex(name, bridgeExists);
  const logs = `${tmpdir()}/earshot-logs/${name}-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  const layout = layOut({ name, index, nodes, dualStack, logs, ...(domain === undefined ? {} : { domain }) });
  let state = initialState(layout, detached);
  const writing = { last: writeState(stateFileOf(layout), state) };
  const save = (): Promise<void> => {
    writing.last = writing.last.then(() => writeState(stateFileOf(layout), state));
    return writing.last;
  };
  if (!detached) endWithThisProcess(layout);
  try {
    await writing.last;
    const { api, credentials } = await boot(
      layout,
      { dns },
      (record: ProcessRecord) => {
        state = { ...state, processes: [...state.processes, record] };
        save().catch(() => undefined);
      },
      log,
    );
    await api.close();
    state = { ...state, credentials: { ca: credentials.ca, token: credentials.tokens[HARNESS] ?? '' } };
    await save();
  } catch (error) {
    await writing.last.catch(() => undefined);
    await tearDown(layout, state.processes, { keepLogs: true });
    const why = error instanceof Error ? error.message : String(error);
    throw new HarnessError('COMPONENT_FAILED', `the cluster ${name} did not start: ${why}\nAll logs: ${logs}`, { cause: error });
  }
  return new Cluster(state, { ownsIt: true });
}

/** A process that ends without stopping its cluster takes the servers with it; the next start of that name removes the rest. */
function endWithThisProcess(layout: ClusterLayout): void {
  process.once('exit', () => readState(stateFileOf(layout))?.processes.forEach((record) => signal(record, 'SIGKILL')));
  // Without a listener these end a process with no `exit`.
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)
    process.once(name, () => process.exit(code));
}

/**
 * The cluster that the test runner or `make cluster` left running: the one whose record EARSHOT_CLUSTER_STATE or
 * `.cluster/state.json` is. Disposing of it lets go and stops nothing.
 */
export function connectCluster(file: string = process.env['EARSHOT_CLUSTER_STATE'] || CHECKOUT_STATE): Cluster {
  const state = readState(file);
  if (state === undefined)
    throw new HarnessError('NO_CLUSTER', `no cluster runs here: ${file} does not exist; \`make cluster\` starts one`);
  return new Cluster(state, { ownsIt: false });
}

/** Stops the cluster of this name, however it was started, and removes what it created. False if it does not exist. */
export async function stopCluster(name = 'earshot', options: { keepLogs?: boolean } = {}): Promise<boolean> {
  const state = readState(`${CLUSTERS}/${name}/state.json`);
  if (state === undefined) return false;
  await tearDown(state.layout, state.processes, { keepLogs: options.keepLogs ?? false });
  return true;
}

/** Makes a cluster the checkout's: connectCluster finds it by default, and other programs read it. */
export function publishCluster(cluster: Cluster): void {
  mkdirSync(dirname(CHECKOUT_STATE), { recursive: true });
  rmSync(CHECKOUT_STATE, { force: true });
  // A link, so that it says what is true after a component was restarted.
  symlinkSync(stateFileOf(cluster.layout), CHECKOUT_STATE);
}

function initialState(layout: ClusterLayout, detached: boolean): ClusterState {
  return {
    kubeconfig: kubeconfigOf(layout, ADMIN),
    apiUrl: layout.apiUrl,
    auditLog: auditLogOf(layout),
    nodes: layout.nodes.map((node) => ({
      name: node.name,
      netns: node.netns,
      addresses: families(node.address),
      containerdSocket: node.containerdSocket,
      kubeletDir: node.kubeletDir,
    })),
    processes: [],
    layout,
    kubernetes: KUBERNETES,
    credentials: { ca: '', token: '' },
    ...(detached ? {} : { owner: { pid: process.pid, startTime: startTimeOf(process.pid) ?? '' } }),
  };
}

async function removeLeftovers(name: string, log: (line: string) => void): Promise<void> {
  const state = readState(`${CLUSTERS}/${name}/state.json`);
  if (state === undefined) return;
  const runs = state.owner === undefined ? state.processes.some(isRunning) : isRunning(state.owner);
  if (runs) {
    const whose = state.owner === undefined ? 'it was left running on purpose' : `it belongs to process ${state.owner.pid}`;
    throw new HarnessError(
      'CLUSTER_RUNS',
      `a cluster ${name} runs already (${whose}): take another name, or end it with \`make cluster-stop${name === 'earshot' ? '' : ` NAME=${name}`}\``,
    );
  }
  log(`removing what a crashed cluster ${name} left`);
  await tearDown(state.layout, state.processes, { keepLogs: true });
}

/** A bridge of that name means that these addresses are in use elsewhere, or that a crash lost even its record. */
function bridgeExists(index: number): boolean {
  return readFileSync('/proc/net/dev', 'utf8')
    .split('\n')
    .some((line) => line.trim().startsWith(`earshot${index}:`));
}
