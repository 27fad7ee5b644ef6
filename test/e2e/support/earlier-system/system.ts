/**
 * A stand-in for the listener-operator, as a whole: a Helm release, the definitions that it keeps up to date itself, the standard
 * csi-provisioner, and a driver on each node.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { toolFolder } from '../../../harness/tools.ts';
import { endProcesses, startProcess } from '../../../harness/processes.ts';
import { eventually, type Cluster } from '../../../harness/index.ts';
import { run } from '../../../harness/command.ts';
import { earlierDefinitions } from '../../../unit/api/earlier-definitions.ts';
import { API, listenerClass } from '../manifests.ts';
import { serveEarlierController, serveEarlierNode } from './driver.ts';
import { EarlierObjects } from './objects.ts';

const RELEASE = 'listener-operator';
const NAMESPACE = 'stackable-operators';
const LEFT_BEHIND = { 'helm.sh/resource-policy': 'keep' };

export class EarlierSystem implements AsyncDisposable {
  readonly objects: EarlierObjects;
  readonly #cluster: Cluster;
  #running = new AsyncDisposableStack();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.objects = new EarlierObjects(cluster);
  }

  /** Returns when every node can mount. Nothing of what it left earlier is in its way. */
  async install(): Promise<void> {
    const cluster = this.#cluster;
    await this.#helm('upgrade', '--install', RELEASE, await this.#chart(), '--create-namespace');
    for (const definition of earlierDefinitions()) {
      const webhook = conversionBy(`${RELEASE}.${NAMESPACE}`);
      await this.objects.apply({ ...definition, spec: { ...definition.spec, conversion: webhook } });
    }
    for (const kind of ['listenerclasses', 'listeners', 'podlisteners']) {
      await eventually(`${kind} to be served`, () => cluster.api.get(`/apis/${API}/${kind}`));
    }
    for (const preset of PRESET) await this.objects.apply(preset);
    await this.#serve();
  }

  /** Removes the programs and the Helm release. The objects that it created stay, and those of the release that are configured to. */
  async uninstall(): Promise<void> {
    await this[Symbol.asyncDispose]();
    await this.#helm('uninstall', RELEASE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#running;
    this.#running = new AsyncDisposableStack();
    await running.disposeAsync();
  }

  async #serve(): Promise<void> {
    const cluster = this.#cluster;
    const socket = `${cluster.layout.dir}/earlier-csi.sock`;
    this.#running.use(await serveEarlierController(this.objects, socket));
    const provisioner = await startProcess({
      component: 'earlier-csi-provisioner',
      program: `${await toolFolder('csi-provisioner')}/csi-provisioner`,
      args: [`--kubeconfig=${cluster.kubeconfig}`, `--csi-address=${socket}`, '--feature-gates=Topology=true', '--extra-create-metadata'],
      log: `${cluster.logs}/earlier-csi-provisioner.log`,
    });
    await cluster.adopt(provisioner);
    this.#running.defer(() => endProcesses([provisioner], 2_000));
    for (const node of cluster.nodes) this.#running.use(await serveEarlierNode(this.objects, node));
    for (const { name } of cluster.nodes) {
      await eventually(`the driver to be registered on ${name}`, async () => {
        const { spec } = await cluster.api.get<{ readonly spec: { readonly drivers?: readonly unknown[] | null } }>(
          `/apis/storage.k8s.io/v1/csinodes/${name}`,
        );
        return (spec.drivers ?? []).length > 0;
      });
    }
  }

  async #helm(...args: readonly string[]): Promise<void> {
    const helm = `${await toolFolder('helm')}/helm`;
    await run(helm, [...args, '--namespace', NAMESPACE, '--kubeconfig', this.#cluster.kubeconfig]);
  }

  /** Objects of its chart that outlive it: installations by other means leave these two behind. */
  async #chart(): Promise<string> {
    const folder = `${this.#cluster.layout.dir}/${RELEASE}-chart`;
    await mkdir(`${folder}/templates`, { recursive: true });
    await writeFile(`${folder}/Chart.yaml`, JSON.stringify({ apiVersion: 'v2', name: RELEASE, version: '0.0.0' }));
    for (const [file, object] of Object.entries(STORAGE)) await writeFile(`${folder}/templates/${file}.yaml`, JSON.stringify(object));
    return folder;
  }
}

const STORAGE = {
  driver: {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: 'listeners.stackable.tech', annotations: LEFT_BEHIND },
    spec: { attachRequired: false, podInfoOnMount: true, fsGroupPolicy: 'File', volumeLifecycleModes: ['Ephemeral', 'Persistent'] },
  },
  class: {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'listeners.stackable.tech', annotations: LEFT_BEHIND },
    provisioner: 'listeners.stackable.tech',
    volumeBindingMode: 'WaitForFirstConsumer',
  },
};

const PRESET = [
  listenerClass('cluster-internal', { serviceType: 'ClusterIP' }),
  listenerClass('external-unstable', { serviceType: 'NodePort', serviceExternalTrafficPolicy: 'Local' }),
  listenerClass('external-stable', { serviceType: 'NodePort', serviceExternalTrafficPolicy: 'Local', pinnedNodePorts: true }),
];

/** Its definitions name a webhook of its own, which is gone when it is. */
function conversionBy(host: string): object {
  const [name, namespace] = host.split('.');
  const clientConfig = { service: { name, namespace, path: '/convert', port: 8443 } };
  return { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } };
}
