import { DRIVER_NAME, LISTENER_NAME_ANNOTATION } from '../../src/api/listeners/names.ts';
import type { Listener } from '../../src/api/listeners/index.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../src/kube/objects.ts';
import { Cluster } from './cluster.ts';
import { NAMESPACE, perform } from './perform.ts';
import type { ClassDraw } from './history.ts';

export interface Phase {
  readonly what: string;
  /** Seconds of this process' time. */
  readonly controller: number;
  readonly drivers: number;
  readonly writes: number;
  /** Watch events that were sent, and how often one was looked at for a watch. */
  readonly delivered: number;
  readonly offered: number;
  /** Megabytes, of everything that is played too. */
  readonly heap: number;
}

const POLICY: ClassDraw = {
  serviceType: 'NodePort',
  pinnedNodePorts: false,
  preferredAddressType: 'IP',
  nodeLossPolicy: 'Keep',
  annotations: 0,
};
/** Simulated milliseconds in which each phase has ended by far. */
const PHASE = 60_000;

/** As many nodes, and as many Listeners with a pod each. */
export class LargeCluster {
  readonly #cluster = new Cluster(1, { replicas: 1, streams: true, usual: 2, others: 20, runsRechecks: true, sidecar: true, waits: false });
  readonly #nodes: number;
  readonly #spent = { controller: 0, driver: 0, world: 0 };

  constructor(nodes: number, listeners: number) {
    this.#nodes = nodes;
    this.#meter();
    perform(this.#cluster, { kind: 'class', name: 0, spec: POLICY });
    for (let node = 0; node < nodes; node += 1) this.#cluster.addNode(`node-${node}`);
    for (let index = 0; index < listeners; index += 1) this.#expose(index);
  }

  async *phases(): AsyncGenerator<Phase> {
    const cluster = this.#cluster;
    yield await this.#phase('all begins: Listeners, pods and processes', () => {});
    yield await this.#phase('an annotation in the class', () =>
      perform(cluster, { kind: 'class', name: 0, spec: { ...POLICY, annotations: 1 } }),
    );
    yield await this.#phase('a node joins', () => cluster.addNode('node-new'));
    yield await this.#phase('it leaves', () => cluster.removeNode('node-new'));
    yield await this.#phase('the controller is killed and starts again', () => cluster.replica('controller-0')?.kill());
    yield await this.#phase('all drivers restart, one after the other', () => {
      for (let node = 0; node < this.#nodes; node += 1) {
        cluster.loop.after((node * PHASE) / 2 / this.#nodes, undefined, () => cluster.replica(`driver-${node}`)?.stop());
      }
    });
    yield await this.#phase('a quiet minute', () => {});
  }

  async #phase(what: string, begin: () => void): Promise<Phase> {
    const { api, loop } = this.#cluster;
    const before = { ...this.#spent, writes: api.counts.writes, delivered: api.watches.delivered, offered: api.watches.offered };
    begin();
    await loop.run(loop.now + PHASE, () => loop.thrown.length > 0);
    if (loop.thrown.length > 0) throw loop.thrown[0];
    return {
      what,
      controller: (this.#spent.controller - before.controller) / 1_000,
      drivers: (this.#spent.driver - before.driver) / 1_000,
      writes: api.counts.writes - before.writes,
      delivered: api.watches.delivered - before.delivered,
      offered: api.watches.offered - before.offered,
      heap: process.memoryUsage().heapUsed / 1e6,
    };
  }

  /** Measures the time of this process by owner of the events. */
  #meter(): void {
    let whose: 'controller' | 'driver' | 'world' = 'world';
    let since = process.cpuUsage();
    this.#cluster.loop.meter = (owner) => {
      const next = owner?.name.startsWith('controller') === true ? 'controller' : owner === undefined ? 'world' : 'driver';
      if (next === whose) return;
      const { user, system } = process.cpuUsage(since);
      this.#spent[whose] += (user + system) / 1_000;
      whose = next;
      since = process.cpuUsage();
    };
  }

  #expose(index: number): void {
    const { resources } = this.#cluster;
    const name = `listener-${index}`;
    const ports = [{ name: 'http', port: 8_080, protocol: 'TCP' }];
    resources.create<Listener>('listeners', {
      metadata: { namespace: NAMESPACE, name },
      spec: { className: 'class-0', ports, publishNotReadyAddresses: true },
    });
    const volume = `pvc-${index}`;
    const claim = resources.create<PersistentVolumeClaim>('persistentvolumeclaims', {
      metadata: { namespace: NAMESPACE, name: `claim-${index}`, annotations: { [LISTENER_NAME_ANNOTATION]: name } },
      spec: { storageClassName: DRIVER_NAME, volumeName: volume },
    });
    const { uid = '' } = claim.metadata;
    resources.create<PersistentVolume>('persistentvolumes', {
      metadata: { name: volume },
      spec: {
        csi: { driver: DRIVER_NAME, volumeHandle: volume, volumeAttributes: { [LISTENER_NAME_ANNOTATION]: name } },
        claimRef: { namespace: NAMESPACE, name: `claim-${index}`, uid },
      },
    });
    // Pods come once claims and volumes are known.
    this.#cluster.loop.after(5_000, undefined, () => {
      resources.create<Pod>('pods', {
        metadata: { namespace: NAMESPACE, name: `pod-${index}` },
        spec: {
          nodeName: `node-${index % this.#nodes}`,
          containers: [{ name: 'main' }],
          volumes: [{ name: 'listener', persistentVolumeClaim: { claimName: `claim-${index}` } }],
        },
      });
    });
  }
}
