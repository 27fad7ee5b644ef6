import { readFile, rm, writeFile } from 'node:fs/promises';
import { connect, type ApiRequests } from './api-requests.ts';
import { run, type CommandOptions } from './command.ts';
import { startApiServer } from './control-plane.ts';
import { writeDebianImage, type DebianImage } from './debian.ts';
import { hostsFileOf } from './dns.ts';
import { HarnessError } from './failures.ts';
import { importImage } from './images.ts';
import type { ClusterLayout, NodeLayout } from './layout.ts';
import { routeAddress } from './network.ts';
import { initOf, startKubelet } from './node.ts';
import { admitNode, nodePath, writeAddresses, type NodeAddress } from './node-object.ts';
import { endProcesses, isRunning, signal, type ProcessRecord } from './processes.ts';
import { readState, stateFileOf, writeState, type ClusterState } from './state.ts';
import { tearDown } from './teardown.ts';
import { toolFolder } from './tools.ts';
import { eventually } from './wait.ts';

/** A running cluster. Every operation returns when it has taken effect; each may be called from another process than the one that started it. */
export class Cluster implements AsyncDisposable {
  readonly layout: ClusterLayout;
  readonly kubeconfig: string;
  readonly apiUrl: string;
  readonly auditLog: string;
  /** Plain JSON calls as a cluster administrator. */
  readonly api: ApiRequests;
  readonly #ownsIt: boolean;
  readonly #stateFile: string;
  readonly #kubernetes: string;

  constructor(state: ClusterState, options: { ownsIt: boolean }) {
    this.layout = state.layout;
    this.kubeconfig = state.kubeconfig;
    this.apiUrl = state.apiUrl;
    this.auditLog = state.auditLog;
    this.api = connect({ url: state.apiUrl, ca: state.credentials.ca, token: state.credentials.token });
    this.#ownsIt = options.ownsIt;
    this.#stateFile = stateFileOf(state.layout);
    this.#kubernetes = state.kubernetes;
  }

  /** Current record of the cluster. */
  get state(): ClusterState {
    const state = readState(this.#stateFile);
    if (state === undefined)
      throw new HarnessError('NO_CLUSTER', `the cluster ${this.layout.name} has been stopped: ${this.#stateFile} is gone`);
    return state;
  }

  get nodes(): ClusterState['nodes'] {
    return this.state.nodes;
  }

  /** Logs of every component. */
  get logs(): string {
    return this.layout.logs;
  }

  /** Runs the cluster's own kubectl; returns what it prints, throws what it complains about. */
  async kubectl(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    const binaries = await this.#binaries();
    return run(`${binaries}/kubectl`, ['--kubeconfig', this.kubeconfig, ...args], options);
  }

  /** Runs a program in a container of a pod. */
  async exec(
    namespace: string,
    pod: string,
    argv: readonly string[],
    options: CommandOptions & { container?: string } = {},
  ): Promise<string> {
    const { container, ...rest } = options;
    const inContainer = container === undefined ? [] : ['--container', container];
    return this.kubectl(
      ['exec', '--namespace', namespace, pod, ...inContainer, ...(rest.input === undefined ? [] : ['--stdin']), '--', ...argv],
      rest,
    );
  }

  /** Runs a program outside the cluster: on the host, where node addresses and node ports answer and invented host names resolve. */
  async outside(argv: readonly string[], options: CommandOptions = {}): Promise<string> {
    // A file of its own for each, since several may run at once; the mount keeps it when its name is gone.
    const script = 'all=$(mktemp); cat "$1" /etc/hosts > "$all"; mount --bind "$all" /etc/hosts; rm "$all"; shift; exec "$@"';
    return run(
      'unshare',
      ['--mount', '--propagation', 'private', '/bin/sh', '-ec', script, 'sh', hostsFileOf(this.layout), ...argv],
      options,
    );
  }

  async loadImage(archive: string, options: { nodes?: readonly string[] } = {}): Promise<void> {
    await importImage(
      archive,
      (options.nodes ?? this.layout.nodes.map(({ name }) => name)).map((name) => this.#node(name)),
    );
  }

  /** Makes an image of programs from Debian packages and loads it into every node; returns its reference. */
  async loadDebianImage(image: DebianImage): Promise<string> {
    const archive = `${this.layout.dir}/${image.name}.tar`;
    const reference = await writeDebianImage(image, archive);
    await this.loadImage(archive);
    await rm(archive);
    return reference;
  }

  /** A service account's token as the kubelet gives it to a pod: bound to it, and so to its node. Without a pod, bound to nothing. */
  async token(namespace: string, serviceAccount: string, options: { pod?: string } = {}): Promise<string> {
    const pod =
      options.pod === undefined
        ? undefined
        : await this.api.get<{ metadata: { uid: string } }>(`/api/v1/namespaces/${namespace}/pods/${options.pod}`);
    const { status } = await this.api.create<{ status: { token: string } }>(
      `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {
          expirationSeconds: 3607,
          ...(pod === undefined ? {} : { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: options.pod, uid: pod.metadata.uid } }),
        },
      },
    );
    return status.token;
  }

  /** Ends a node's kubelet; pods go on, as after a crash of it. */
  async stopKubelet(node: string): Promise<void> {
    await this.#end(this.#processes('kubelet', node), 10_000);
  }

  /** Starts a node's kubelet again and waits until the API server has heard from it. */
  async startKubelet(name: string): Promise<void> {
    const node = this.#node(name);
    if (this.#processes('kubelet', name).length > 0) return;
    const since = new Date();
    const machine = this.#process('machine', name);
    const kubelet = await startKubelet(this.layout, node, await initOf(machine, node), await this.#binaries());
    await this.#record([kubelet]);
    await admitNode(this.api, node, kubelet, { since, addresses: await givenAddresses(node) });
  }

  /** The node is gone for good, as far as Kubernetes knows: its kubelet stopped, its Node object deleted. Its containers run on unseen. */
  async deleteNode(name: string): Promise<void> {
    await this.stopKubelet(name);
    await this.api.remove(nodePath(name));
    await eventually(`Node ${name} to be deleted`, async () => (await this.api.find(nodePath(name))) === undefined);
  }

  /** A deleted node comes back, under the same name, as a new Node object. */
  async addNode(name: string): Promise<void> {
    await this.startKubelet(name);
  }

  /**
   * Sets the addresses in a Node's status, for good. IP addresses really answer there, from outside and from other nodes;
   * host names resolve to the node in pods and for `outside`. The node's first own address keeps working whether listed or not.
   */
  async setNodeAddresses(name: string, addresses: readonly NodeAddress[]): Promise<void> {
    const node = this.#node(name);
    const own = new Set([node.address.v4, node.address.v6]);
    const ips = (list: readonly NodeAddress[]): readonly string[] =>
      list.filter(({ type, address }) => type.endsWith('IP') && !own.has(address)).map(({ address }) => address);
    const before = (await givenAddresses(node)) ?? [];
    for (const address of ips(before)) if (!ips(addresses).includes(address)) await routeAddress(this.layout, node, address, 'remove');
    for (const address of ips(addresses)) await routeAddress(this.layout, node, address, 'add');
    await writeFile(addressesFile(node), JSON.stringify(addresses));
    await this.#writeHosts();
    await writeAddresses(this.api, node, addresses);
  }

  /** Takes the API server away until startApiServer. */
  async stopApiServer(): Promise<void> {
    // Open watches would hold a graceful end for a minute.
    await this.#end([this.#process('kube-apiserver')], 2_000);
    // On a busy machine a killed process holds its port a little longer than its entry in /proc shows.
    const listening = ['--no-header', '--tcp', '--listening', '--numeric', 'src', `${this.layout.host.v4}:6443`];
    await eventually('the port of the API server to be free', async () => (await run('ss', listening)).trim() === '');
  }

  async startApiServer(): Promise<void> {
    await this.#record([await startApiServer(this.layout, await this.#binaries(), this.api)]);
  }

  /** The API server ends, and another one answers in its place. */
  async restartApiServer(): Promise<void> {
    await this.stopApiServer();
    await this.startApiServer();
  }

  /** The store stops answering without closing a connection: requests hang. */
  async pauseEtcd(): Promise<void> {
    signal(this.#process('etcd'), 'SIGSTOP');
  }

  async resumeEtcd(): Promise<void> {
    signal(this.#process('etcd'), 'SIGCONT');
  }

  /** Resets every connection to the API server, watches and all, while it goes on running. */
  async cutWatches(): Promise<void> {
    await run('ss', ['--kill', '--no-header', '--tcp', 'state', 'established', 'src', this.layout.host.v4, 'sport', '=', ':6443']);
  }

  /** Takes the cluster down and removes all that it made. Logs stay where `logs` says with keepLogs, or EARSHOT_KEEP_LOGS set. */
  async stop(options: { keepLogs?: boolean } = {}): Promise<void> {
    const state = readState(this.#stateFile);
    await this.api.close();
    if (state === undefined) return;
    await tearDown(this.layout, state.processes, { keepLogs: options.keepLogs ?? Boolean(process.env['EARSHOT_KEEP_LOGS']) });
  }

  /** Stops a cluster that this process started; lets go of one that it only connected to. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#ownsIt ? this.stop() : this.api.close());
  }

  /** Records a process that belongs to the cluster, so that any stop of the cluster ends it too. */
  async adopt(record: ProcessRecord): Promise<void> {
    await this.#record([record]);
  }

  /** Version that the cluster was booted with, even if this process would boot another. */
  #binaries(): Promise<string> {
    return toolFolder('kubernetes', undefined, this.#kubernetes);
  }

  #node(name: string): NodeLayout {
    const node = this.layout.nodes.find((candidate) => candidate.name === name);
    if (node === undefined)
      throw new TypeError(`no node ${name}; there are: ${this.layout.nodes.map((candidate) => candidate.name).join(', ')}`);
    return node;
  }

  #processes(component: string, node?: string): readonly ProcessRecord[] {
    return this.state.processes.filter((record) => record.component === component && record.node === node && isRunning(record));
  }

  #process(component: string, node?: string): ProcessRecord {
    const record = this.#processes(component, node)[0];
    if (record === undefined)
      throw new HarnessError(
        'COMPONENT_FAILED',
        `${component}${node === undefined ? '' : ` on ${node}`} does not run; logs are in ${this.logs}`,
      );
    return record;
  }

  async #record(added: readonly ProcessRecord[]): Promise<void> {
    const { state } = this;
    await writeState(this.#stateFile, { ...state, processes: [...state.processes.filter(isRunning), ...added] });
  }

  async #end(records: readonly ProcessRecord[], graceMs: number): Promise<void> {
    await endProcesses(records, graceMs);
    await this.#record([]);
  }

  async #writeHosts(): Promise<void> {
    const lines: string[] = [];
    for (const node of this.layout.nodes) {
      for (const { type, address } of (await givenAddresses(node)) ?? [])
        if (!type.endsWith('IP') && address !== node.name) lines.push(`${node.address.v4} ${address}`);
    }
    await writeFile(hostsFileOf(this.layout), lines.map((line) => `${line}\n`).join(''));
  }
}

function addressesFile(node: NodeLayout): string {
  return `${node.dir}/addresses.json`;
}

/** The addresses that a test gave a node, undefined where it has those that it registered with. */
async function givenAddresses(node: NodeLayout): Promise<readonly NodeAddress[] | undefined> {
  return readFile(addressesFile(node), 'utf8').then(
    (text) => JSON.parse(text) as readonly NodeAddress[],
    () => undefined,
  );
}
