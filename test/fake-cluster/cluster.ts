/** A cluster in one process: the API server and Kubernetes' own controllers are played, the processes of Earshot are real. */
import { runController } from '../../src/cli/processes/controller.ts';
import { runCsiNode } from '../../src/cli/processes/csi-node.ts';
import { TOPOLOGY_KEY } from '../../src/api/listeners/names.ts';
import { keyOf } from '../../src/kube/key.ts';
import type { Node, Pod } from '../../src/kube/objects.ts';
import { seam } from '../../src/telemetry/boundary.ts';
import { enter, EPOCH } from '../simulate/current.ts';
import { Loop } from '../simulate/loop.ts';
import { Network as Sockets } from '../simulate/network.ts';
import { hashOf, Random } from '../simulate/random.ts';
import { ApiServer } from './api-server.ts';
import { enterCluster, type Current } from './current.ts';
import { Delays } from './delays.ts';
import { Disk } from './disk.ts';
import { keepEndpoints } from './kube/endpoints.ts';
import { playBinder } from './kube/binder.ts';
import { collectGarbage } from './kube/garbage-collector.ts';
import { Kubelet, KUBELET_DIR } from './kube/kubelet.ts';
import { playLoadBalancers, type LoadBalancers } from './kube/load-balancers.ts';
import { playVolumes } from './kube/volumes.ts';
import { Network } from './network.ts';
import { countOrphans } from './orphans.ts';
import type { ClusterPlan } from './plan.ts';
import type { Process } from './process.ts';
import { Replica } from './replica.ts';
import { Resources } from './resources.ts';
import { Store } from './store.ts';

export const CLUSTER_DOMAIN = 'cluster.local';

/** A reconcile's request for a recheck without a failure. */
interface Recheck {
  readonly process: Process;
  readonly at: number;
  readonly run: () => void;
}

/** A pause within a second is pace, not patience. */
const PACE = 1_000;
/** In this queue a recheck is the pause after an unanswered request. */
const PAUSES = 'requests';

export class Cluster implements Current {
  readonly loop: Loop;
  readonly store: Store;
  readonly resources: Resources;
  readonly network: Network;
  readonly api: ApiServer;
  readonly kubelets = new Map<string, Kubelet>();
  readonly controllers: readonly Replica[];
  readonly drivers = new Map<string, Replica>();
  readonly orphans: ReadonlyMap<string, number>;
  /** Errors that nothing can repair. */
  readonly faults: string[] = [];
  /** Hash of all writes and log lines, in order. */
  digest = 0;
  onTrace: ((line: string) => void) | undefined;
  runsRechecks: boolean;
  readonly #rechecks: Recheck[] = [];
  readonly #disks = new Map<string, Disk>();
  readonly #random: Random;
  readonly #others: number;
  readonly #sidecar: boolean;
  /** Errors that users would have seen of claims that were bound too early. */
  mishaps: readonly string[] = [];
  #loadBalancers: LoadBalancers | undefined;
  /** In worlds in which pods wait for an address, and nothing else happens. */
  readonly #delays: Delays | undefined;
  #addresses = 0;

  constructor(seed: number, plan: Pick<ClusterPlan, 'replicas' | 'streams' | 'usual' | 'others' | 'runsRechecks' | 'sidecar' | 'waits'>) {
    const random = new Random(seed, 2);
    this.#random = random;
    this.#others = plan.others;
    this.#sidecar = plan.sidecar;
    this.runsRechecks = plan.runsRechecks;
    this.loop = new Loop(() => random.unit());
    this.store = new Store(random);
    this.orphans = countOrphans(this.store);
    this.network = new Network(random);
    this.network.usual = plan.usual;
    const { loop, store, network } = this;
    this.resources = new Resources({ store, random, now: () => EPOCH + loop.now });
    const { resources } = this;
    this.api = new ApiServer({ loop, random, store, network, resources, say: (where, what) => this.log(where, what) });
    this.api.watches.offersLists = plan.streams;
    const sockets = new Sockets(loop, random, () => {});
    enter({ loop, network: sockets, random, sharesReads: false, epoch: EPOCH });
    enterCluster(this);
    seam.seen = (error, name) => this.faults.push(`${name} threw: ${error instanceof Error ? error.stack : String(error)}`);
    Object.assign(globalThis, { playedRecheck: this.#recheck });
    this.#play();
    if (plan.waits) this.#delays = new Delays({ loop, store, others: plan.others, faults: this.faults });
    this.controllers = Array.from({ length: plan.replicas }, (_, index) => this.#controller(`controller-${index}`, plan.replicas > 1));
    for (const controller of this.controllers) controller.start();
  }

  leave(): void {
    enterCluster(undefined);
    enter(undefined);
  }

  diskOf(node: string): Disk {
    const disk = this.#disks.get(node) ?? new Disk();
    this.#disks.set(node, disk);
    return disk;
  }

  log(process: string, line: string): void {
    this.digest = (Math.imul(this.digest ^ hashOf(`${process} ${line}`), 0x01000193) ^ Math.floor(this.loop.now * 1_000)) >>> 0;
    this.onTrace?.(`${this.loop.now.toFixed(1)} ${process} ${line}`);
  }

  /** How long one of Kubernetes' own controllers takes. */
  readonly delay = (): number => this.#others * this.#random.unit();

  replica(name: string): Replica | undefined {
    return this.controllers.find((each) => each.name === name) ?? [...this.drivers.values()].find((each) => each.name === name);
  }

  addNode(name: string): void {
    if (this.store.get('nodes', name) !== undefined) return;
    this.resources.create<Node>('nodes', { metadata: { name, labels: { [TOPOLOGY_KEY]: name } }, status: this.nodeStatus(name) });
    this.#disks.delete(name);
    const driver = new Replica({ name: name.replace('node', 'driver'), node: name }, this.#replicaWorld(), (process) =>
      runCsiNode({ nodeName: name, kubeletDir: KUBELET_DIR, httpPort: 0, logLevel: 'info' }, process.until.signal),
    );
    this.drivers.set(name, driver);
    driver.start();
    const { loop, network, store, resources, delay } = this;
    this.kubelets.set(
      name,
      new Kubelet(name, { loop, network, store, resources, delay, disk: this.diskOf(name), driver: () => driver.process }),
    );
  }

  nodeStatus(name: string): NonNullable<Node['status']> {
    this.#addresses += 1;
    const address = `192.0.2.${this.#addresses % 250}`;
    return {
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: name },
      ],
    };
  }

  removeNode(name: string): void {
    this.store.remove('nodes', name);
    this.kubelets.get(name)?.stop();
    this.kubelets.delete(name);
    this.drivers.get(name)?.remove();
    this.drivers.delete(name);
    // As the pod garbage collector does with pods of a node that is gone.
    for (const pod of this.store.all<Pod>('pods')) {
      const remove = (): void => {
        const now = this.store.get<Pod>('pods', keyOf(pod));
        if (now?.metadata.uid === pod.metadata.uid) this.store.remove('pods', keyOf(pod));
      };
      if (pod.spec?.nodeName === name) this.loop.after(10 * this.delay(), undefined, remove);
    }
  }

  /** Runs held rechecks, each in its time but no earlier than now. */
  runRechecks(): void {
    this.runsRechecks = true;
    for (const { process, at, run } of this.#rechecks) this.loop.at(Math.max(at, this.loop.now), process, run, 'timer');
    this.#rechecks.length = 0;
  }

  /** Whether load balancers give no addresses. */
  setAddressesHeld(isHeld: boolean): void {
    this.#loadBalancers?.setHeld(isHeld);
    this.#delays?.setHeld(isHeld);
  }

  /** Pods that another one's wait has delayed, as long as they are late. */
  get late(): readonly string[] {
    return this.#delays?.late ?? [];
  }

  get rechecks(): number {
    return this.#rechecks.filter(({ process }) => !process.gone).length;
  }

  readonly #recheck = (
    queue: string,
    result: { readonly outcome: string; readonly retryAfter: number },
    delay: (after: number) => void,
  ): void => {
    const { owner } = this.loop;
    const { outcome, retryAfter } = result;
    const isPatience = outcome === 'requeue' && retryAfter > PACE && queue !== PAUSES;
    if (this.runsRechecks || !isPatience) delay(retryAfter);
    else this.#rechecks.push({ process: owner as Process, at: this.loop.now + retryAfter, run: () => delay(1) }); // Queues run in processes only.
  };

  #play(): void {
    const { loop, network, store, resources, delay } = this;
    const parts = { loop, network, store, resources, delay, random: this.#random };
    collectGarbage(parts);
    keepEndpoints(parts);
    this.#loadBalancers = playLoadBalancers(parts);
    playVolumes({ ...parts, sidecar: this.#sidecar, controller: () => this.#serving() });
    if (!this.#sidecar) this.mishaps = playBinder(parts);
    store.onChange(({ plural, type, object }) => {
      if (plural === 'pods') {
        const kubelet = this.kubelets.get((object as Pod).spec?.nodeName ?? '');
        if (type === 'DELETED') this.loop.after(delay(), undefined, () => kubelet?.lose(object));
        else kubelet?.hear(object);
      }
      if (plural === 'persistentvolumes' && type !== 'DELETED') {
        const pods = store.all<Pod>('pods').filter(({ spec }) => spec?.nodeName !== undefined);
        for (const pod of pods) this.kubelets.get(pod.spec?.nodeName ?? '')?.hear(pod);
      }
    });
  }

  /** A controller whose CSI socket answers. */
  #serving(): Process | undefined {
    return this.controllers.map(({ process }) => process).find((process) => process?.services.has('csi.v1.Controller') === true);
  }

  #controller(name: string, leaderElection: boolean): Replica {
    return new Replica({ name, node: '' }, this.#replicaWorld(), (process) =>
      runController(
        {
          namespace: 'earshot',
          identity: name,
          ...(this.#sidecar ? { csiSocket: '/csi.sock' } : {}),
          clusterDomain: CLUSTER_DOMAIN,
          preset: 'none',
          leaderElection,
          manageCrds: false,
          concurrency: 8,
          httpPort: 0,
          logLevel: 'info',
        },
        process.until.signal,
      ),
    );
  }

  #replicaWorld(): { readonly loop: Loop; readonly random: Random; readonly onEnd: (name: string, error: unknown) => void } {
    const onEnd = (name: string, error: unknown): void => this.log(name, `ended: ${error instanceof Error ? error.message : 'in order'}`);
    return { loop: this.loop, random: this.#random, onEnd };
  }
}
